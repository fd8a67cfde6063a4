package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The cloud controller manager runs under an account that may do what its roles say and nothing more; every other test
// shows that this is enough.
func TestLeastPrivilege(t *testing.T) {
	t.Parallel()
	s := newHome(t).up("rbac", "single")
	const account = "--as=system:serviceaccount:kube-system:cloud-controller-manager"
	for _, tc := range []struct {
		args string
		may  bool
	}{
		{"update nodes", true},
		{"delete nodes", true},
		{"patch nodes/status", true},
		{"get secret/vsphere-cloud-secret -n kube-system", true},
		{"watch secret/vsphere-cloud-secret -n kube-system", true},
		{"create events -n kube-system", true},
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
		r := s.try(append([]string{"--name", s.name, "kubectl", "auth", "can-i", account}, strings.Fields(tc.args)...)...)
		if got := strings.TrimSpace(r.out) == "yes"; got != tc.may {
			t.Errorf("may %s: %t, want %t\n%s", tc.args, got, tc.may, r.both())
		}
	}
}

// Nothing in a sandbox's directory is for anybody but its owner, and no log or event holds a password.
func TestSecretsStayPrivate(t *testing.T) {
	t.Parallel()
	s := newHome(t).up("secrets", "single")
	access, err := s.client.Access(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := s.status().Dir
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil // gone meanwhile
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
	for pid, line := range s.processes() {
		if strings.Contains(line, access[0].Password) {
			t.Errorf("process %d shows a password in its arguments", pid)
		}
	}
}

// govc, ours and anybody's, lists the topology over TLS that verifies.
func TestGovc(t *testing.T) {
	t.Parallel()
	s := newHome(t).up("govc")
	out := s.run("govc", "find", "/", "-type", "m")
	for _, path := range []string{"/dcwest/vm/cp-1", "/dcwest/vm/worker-west-1", "/dceast/vm/worker-east-1", "/dceu/vm/worker-eu-1"} {
		if !strings.Contains(out, path+"\n") {
			t.Errorf("%s is missing:\n%s", path, out)
		}
	}
	env := s.run("env", "--vcenter", "eu", "--shell", "bash")
	for _, name := range []string{"GOVC_URL", "GOVC_USERNAME", "GOVC_PASSWORD", "GOVC_TLS_CA_CERTS", "KUBECONFIG"} {
		if !strings.Contains(env, "export "+name+"=") {
			t.Errorf("env lacks %s:\n%s", name, env)
		}
	}
	if strings.Contains(env, "GOVC_INSECURE=1") || strings.Contains(env, "GOVC_INSECURE=true") {
		t.Error("env turns the verification of certificates off")
	}
}
