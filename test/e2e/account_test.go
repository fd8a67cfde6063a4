package e2e

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
)

// The cloud controller manager runs under an account that may do what its roles say and nothing more; every other test
// shows that this is enough.
func leastPrivilege(s *sandbox) {
	t := s.T
	const account = "--as=system:serviceaccount:kube-system:cloud-controller-manager"
	for _, tc := range []struct {
		args string
		may  bool
	}{
		{"update nodes", true},
		{"delete nodes", true},
		{"patch nodes/status", true},
		{"list secret/vsphere-cloud-secret -n kube-system", true},
		{"watch secret/vsphere-cloud-secret -n kube-system", true},
		{"create events -n kube-system", true},
		{"create events -n default", true},
		{"get secret/vsphere-cloud-secret -n kube-system", false},
		{"get secrets -n kube-system", false},
		{"list secrets -A", false},
		{"get secret/other -n kube-system", false},
		{"create nodes", false},
		{"list pods -A", false},
		{"get configmaps -n kube-system", false},
		{"create serviceaccounts/token -n kube-system", false},
		{"create tokenreviews", false},
		{"impersonate users", false},
		{"create pods", false},
	} {
		r := s.Try(append([]string{"--name", s.Name, "kubectl", "auth", "can-i", account}, strings.Fields(tc.args)...)...)
		if got := strings.TrimSpace(r.Out) == "yes"; got != tc.may {
			t.Errorf("may %s: %t, want %t\n%s", tc.args, got, tc.may, r.Both())
		}
	}
}

// Nothing in a sandbox's directory is for anybody but its owner, and no log or event holds a password.
func secretsStayPrivate(s *sandbox) {
	t := s.T
	access, err := s.Client.Access(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := s.Status().Dir
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && d.Type()&fs.ModeSymlink != 0 {
			return nil // removed since, or a link to something else
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil // removed since
		}
		rel, _ := filepath.Rel(dir, path)
		if filepath.Dir(rel) == "." && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", rel, info.Mode())
		}
		if strings.HasPrefix(rel, "logs") || strings.HasSuffix(rel, ".jsonl") || strings.HasSuffix(rel, ".json") {
			if b, err := os.ReadFile(path); err == nil && !d.IsDir() && strings.Contains(string(b), access[0].Password) {
				t.Errorf("%s holds a password", rel)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pid, line := range s.Processes() {
		if strings.Contains(line, access[0].Password) {
			t.Errorf("process %d shows a password in its arguments", pid)
		}
	}
}

// govc, ours and anybody's, lists the topology over TLS that verifies.
func govc(s *sandbox) {
	t := s.T
	out := s.Run("govc", "find", "/", "-type", "m")
	for _, path := range []string{"/dcwest/vm/cp-1", "/dcwest/vm/worker-west-1", "/dceast/vm/worker-east-1", "/dceu/vm/worker-eu-1"} {
		if !strings.Contains(out, path+"\n") {
			t.Errorf("%s is missing:\n%s", path, out)
		}
	}
	env := s.Run("env", "--vcenter", "eu", "--shell", "bash")
	for _, name := range []string{"GOVC_URL", "GOVC_USERNAME", "GOVC_PASSWORD", "GOVC_TLS_CA_CERTS", "KUBECONFIG"} {
		if !strings.Contains(env, "export "+name+"=") {
			t.Errorf("env lacks %s:\n%s", name, env)
		}
	}
	if vms := plainGovc(t, s.Run("env", "--vcenter", "eu", "-o", "json")); !slices.Contains(vms, "/dceu/vm/worker-eu-1") || len(vms) != 2 {
		t.Errorf("with these variables one sees %v", vms)
	}
	if strings.Contains(env, "GOVC_INSECURE=1") || strings.Contains(env, "GOVC_INSECURE=true") {
		t.Error("env turns the verification of certificates off")
	}
}

// plainGovc does what govc does with its variables, certificates verified, and returns the paths of the VMs.
func plainGovc(t *testing.T, env string) []string {
	t.Helper()
	var printed map[string]any
	if err := json.Unmarshal([]byte(env), &printed); err != nil {
		t.Fatalf("%v\n%s", err, env)
	}
	vars := printed
	if inner, ok := printed["variables"].(map[string]any); ok {
		vars = inner
	}
	get := func(name string) string { v, _ := vars[name].(string); return v }
	u, err := soap.ParseURL(get("GOVC_URL"))
	if err != nil || u == nil {
		t.Fatalf("GOVC_URL %q: %v\n%s", get("GOVC_URL"), err, env)
	}
	pem, err := os.ReadFile(get("GOVC_TLS_CA_CERTS"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	sc := soap.NewClient(u, false)
	sc.DefaultTransport().TLSClientConfig.RootCAs = pool
	client, err := vim25.NewClient(t.Context(), sc)
	if err != nil {
		t.Fatal(err)
	}
	sessions := session.NewManager(client)
	if err := sessions.Login(t.Context(), url.UserPassword(get("GOVC_USERNAME"), get("GOVC_PASSWORD"))); err != nil {
		t.Fatal(err)
	}
	defer sessions.Logout(t.Context())
	vms, err := find.NewFinder(client).VirtualMachineList(t.Context(), "/*/vm/*")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, vm := range vms {
		paths = append(paths, vm.InventoryPath)
	}
	return paths
}
