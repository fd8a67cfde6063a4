package e2e

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// vCenters alone answer govc, and say nothing of Kubernetes.
func TestVCentersAlone(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	begin := time.Now()
	r := h.Try("vcenter", "up", "-f", "zones-us-eu", "--detach")
	if r.Code != 0 {
		t.Fatalf("exit status %d\n%s", r.Code, r.Both())
	}
	t.Logf("took %v", time.Since(begin))
	for _, want := range []string{"export GOVC_URL='https://127.", "export GOVC_PASSWORD='", "unset GOVC_DATACENTER\n", "# govc talks to vCenter us; "} {
		if !strings.Contains(r.Out, want) {
			t.Errorf("stdout lacks %q:\n%s", want, r.Out)
		}
	}
	if strings.Contains(r.Err, "node") || strings.Contains(r.Err, "GOVC_URL=") {
		t.Errorf("stderr:\n%s", r.Err)
	}
	if out := h.Must("status"); !strings.Contains(out, "vCenters only") {
		t.Errorf("status:\n%s", out)
	}
	h.Must("wait", "--for=ready", "--timeout", "10s")
	if out := h.Must("govc", "--vcenter", "eu", "find", "/", "-type", "m"); !strings.Contains(out, "/dceu/vm/worker-eu-1") {
		t.Errorf("govc find:\n%s", out)
	}
	if nodes := h.Must("get", "nodes", "-o", "name"); nodes != "" {
		t.Errorf("nodes: %s", nodes)
	}
	if r := h.Try("kubectl", "get", "nodes"); r.Code != 1 || !strings.Contains(r.Err, "vCenters only") {
		t.Errorf("kubectl: exit status %d\n%s", r.Code, r.Both())
	}
	h.Must("vcenter", "down", "eu")
	if r := h.Try("status"); r.Code != 3 {
		t.Errorf("with a vCenter down, status ends with %d\n%s", r.Code, r.Both())
	}
	h.Must("vcenter", "up", "eu")
	h.Must("down")
	h.nothingLeft()
}

// Flags of vcsim, with one dash as its scripts have them; the variables go to a file that is the owner's alone.
func TestVCentersAloneLikeVcsim(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	file := filepath.Join(h.Tmp, "env")
	t.Cleanup(func() { _ = os.Remove(file) })
	c := h.Cmd("vcenter", "up", "-dc", "2", "-vm=3", "-l", "127.0.0.1:0", "-username", "joe", "-E", file)
	c.Env = append(c.Env, "VSPHERE_SANDBOX_PASSWORD=it's", "SHELL=/bin/sh")
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	h.awaitReady()
	// What is there is there whole, at the latest a moment after the sandbox is ready.
	deadline := time.Now().Add(30 * time.Second)
	lines, err := os.ReadFile(file)
	for ; err != nil && time.Now().Before(deadline); lines, err = os.ReadFile(file) {
		time.Sleep(10 * time.Millisecond)
	}
	for _, want := range []string{"GOVC_URL='https://127.0.0.1:", "GOVC_USERNAME='joe'\n", `GOVC_PASSWORD='it'\''s'`} {
		if !strings.Contains(string(lines), want) {
			t.Errorf("the file lacks %q:\n%s", want, lines)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if vms := strings.Fields(h.Must("govc", "find", "/", "-type", "m")); len(vms) != 12 || !strings.Contains(strings.Join(vms, " "), "/DC1/vm/DC1_C0_RP0_VM2") {
		t.Errorf("VMs: %v", vms)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("after Ctrl-C: %v", err)
	}
	if out.Len() > 0 || !strings.Contains(errs.String(), ": stopped\n") {
		t.Errorf("stdout: %s\nstderr: %s", out.String(), errs.String())
	}
	if err := os.Remove(file); err != nil {
		t.Error(err)
	}
	h.nothingLeft()
}

// docker answers like Docker with the kind cluster "dev", in whose network this machine is 127.0.0.9.
const docker = `#!/bin/sh
case "$*" in
--version) echo "Docker version 27.5.1, build 9f9e405" ;;
version*) echo "1.47 27.5.1" ;;
info*) echo "Debian GNU/Linux 12" ;;
"ps --all --filter label=io.x-k8s.kind.cluster=dev"*) echo dev-control-plane ;;
"network ls"*kind*) echo kind ;;
"network inspect kind") echo '[{"IPAM":{"Config":[{"Subnet":"127.0.0.0/16","Gateway":"127.0.0.9"}]}}]' ;;
esac
`

// Containers of a network reach vCenters alone, with a certificate for their address, as long as the vCenters run.
func TestVCentersForContainers(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := h.File("docker", docker)
	t.Cleanup(func() { _ = os.Remove(path) })
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	up := func(args ...string) (string, error) {
		c := h.Cmd(append([]string{"vcenter", "up", "--vm", "1", "--detach", "-o", "json"}, args...)...)
		c.Env = append(c.Env, "PATH="+filepath.Dir(path)+":/usr/bin:/bin", "KIND_EXPERIMENTAL_PROVIDER=docker")
		var errs bytes.Buffer
		c.Stderr = &errs
		out, err := c.Output()
		if err != nil {
			return errs.String(), err
		}
		return string(out), nil
	}
	if said, err := up("--in-kind", "production"); err == nil || !strings.Contains(said, `"code": "no-kind-cluster"`) {
		t.Errorf("a cluster that is not there: %v\n%s", err, said)
	}
	out, err := up("--in-kind", "dev")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var access struct{ VCenters []api.Access }
	if err := json.Unmarshal([]byte(out), &access); err != nil || len(access.VCenters) != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	at, err := url.Parse(access.VCenters[0].ContainerURL)
	if err != nil || at.Hostname() != "127.0.0.9" {
		t.Fatalf("%+v, %v", access, err)
	}
	var list struct{ Items []api.VCenter }
	if err := json.Unmarshal([]byte(h.Must("get", "vcenters", "-o", "json")), &list); err != nil || len(list.Items) != 1 || list.Items[0].ContainerURL != at.String() {
		t.Errorf("get vcenters: %+v, %v", list.Items, err)
	}
	ca, err := os.ReadFile(access.VCenters[0].CAFile)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}
	get := func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at.String()+"/vimServiceVersions.xml", http.NoBody)
		if err != nil {
			return err
		}
		res, err := transport.RoundTrip(req)
		if err != nil {
			return err
		}
		return errors.Join(res.Body.Close(), map[bool]error{false: errors.New(res.Status)}[res.StatusCode == http.StatusOK])
	}
	if err := get(); err != nil {
		t.Errorf("from the network: %v", err)
	}
	h.Must("down")
	if err := get(); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after the end: %v", err)
	}
	h.nothingLeft()
}

// What cannot be is refused before anything is there, in words of what was typed.
func TestVCentersAloneBadFlags(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for _, tc := range []struct {
		args string
		code int
		want string
	}{
		{"", 2, "-f zones-us-eu"},
		{"zones-us-eu", 2, "vcenter up -f zones-us-eu"},
		{"-f zones-us-ue", 2, "zones-us-eu"},
		{"-dc 1 --nosuch", 2, "has no flag --nosuch"},
		{"-dc -1", 2, "--dc -1"},
		{"-dc two", 2, "two"},
		{"-vm 1000000", 2, "there can be 50000"},
		{"-dc 1 -l nowhere", 2, "--listen nowhere"},
		{"-dc 1 -l 127.0.0.1:1 -l 127.0.0.1:2", 2, "--listen"},
		{"-dc 1 -l 192.0.2.1:8989", 2, "other machines could reach the vCenters there"},
		{"-dc 1 -l 192.0.2.1:8989 --expose", 4, "no such address"},
		{"-dc 1 -username joe", 2, "VSPHERE_SANDBOX_PASSWORD"},
		{"-dc 1 -E /nonexistent/env", 4, "/nonexistent/env: no such file"},
		{"-dc 1 -d -E /nonexistent/env", 4, "/nonexistent/env: no such file"},
	} {
		r := h.Try(append([]string{"vcenter", "up"}, strings.Fields(tc.args)...)...)
		if r.Code != tc.code || !strings.Contains(r.Err, tc.want) || !strings.Contains(r.Err, "error: ") || r.Out != "" {
			t.Errorf("%s: exit status %d, want %d, and %q in:\n%s", tc.args, r.Code, tc.code, tc.want, r.Both())
		}
	}
	h.nothingLeft()
}

// An unread pipe does not prevent its end.
func TestVCentersAlonePipe(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	pipe := filepath.Join(h.Tmp, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(pipe)
	if as != nil {
		if err := os.Chown(pipe, int(as.Uid), int(as.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	c := h.Cmd("vcenter", "up", "-dc", "1", "-E", pipe)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	h.awaitReady()
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("after SIGTERM: %v", err)
		}
	case <-time.After(10 * time.Second):
		_ = c.Process.Kill()
		<-done
		t.Error("it does not end")
	}
}

// awaitReady waits for a sandbox that another process boots. Until it exists, it must be polled.
func (h *home) awaitReady() {
	h.T.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		r := h.Try("wait", "--for=ready", "--timeout", "10s")
		if r.Code == 0 {
			return
		}
		if time.Now().After(deadline) {
			h.T.Fatalf("it is not ready\n%s", r.Both())
		}
		time.Sleep(20 * time.Millisecond)
	}
}
