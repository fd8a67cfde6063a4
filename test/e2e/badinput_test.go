package e2e

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const header = "apiVersion: sandbox.vsphere/v1alpha1\nkind: Topology\nmetadata: {name: bad}\n"

// A topology that cannot be used is refused before anything is started, with file, line, path and a hint, and exit
// status 2.
func TestBadTopologies(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	// Registered after newHome's cleanup, so that the files are gone before it looks for leftovers.
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{"empty.yaml"}},
		{"malformed", header + "spec: {vcenters: [\n", []string{"malformed.yaml:"}},
		{"unknown-key", header + "spec:\n  vcenters:\n  - name: a\n    datacentres: []\n", []string{"unknown-key.yaml:7:", "datacentres", `did you mean "datacenters"`}},
		{"wrong-type", header + "spec:\n  vcenters: seven\n", []string{"wrong-type.yaml:5:", "spec.vcenters"}},
		{"wrong-kind", "apiVersion: v1\nkind: Pod\n", []string{"wrong-kind.yaml:1:", "is a Kubernetes Pod, not a topology"}},
		{"dangling", header + "spec:\n  vcenters:\n  - name: a\n    datacenters:\n    - name: dc\n      hosts: [{name: esx-1}]\n      vms:\n      - {name: vm, host: esx-2}\n", []string{"dangling.yaml:11:", "esx-2", "esx-1"}},
		{"huge", header + "#" + strings.Repeat("x", 10<<20), []string{"huge.yaml"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := h.File(tc.name+".yaml", tc.text)
			begin := time.Now()
			r := h.Try("up", path)
			if r.Code != 2 {
				t.Errorf("exit status %d, want 2", r.Code)
			}
			for _, want := range tc.want {
				if !strings.Contains(r.Err, want) {
					t.Errorf("stderr lacks %q:\n%s", want, r.Err)
				}
			}
			if r.Out != "" {
				t.Errorf("stdout: %s", r.Out)
			}
			t.Logf("refused in %.2fs: %s", time.Since(begin).Seconds(), strings.SplitN(r.Err, "\n", 3)[:1])
			if left := h.Processes(); len(left) > 0 {
				t.Errorf("left running: %v", left)
			}
		})
	}
}

// What else a person can get wrong on the command line.
func TestBadUsage(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"up", "zones-us-ue"}, 2, "zones-us-eu"},
		{[]string{"up", "/no/such/file.yaml"}, 2, "/no/such/file.yaml"},
		{[]string{"up", "--speed", "0"}, 2, "--speed"},
		{[]string{"up", "--speed", "fast"}, 2, "fast"},
		{[]string{"up", "--api-port", "70000"}, 2, "70000"},
		{[]string{"--name", "Bad_Name", "up"}, 2, "Bad_Name"},
		{[]string{"pu"}, 2, "up"},
		{[]string{"status"}, 1, "vsphere-sandbox up"},
		{[]string{"--name", "nobody", "status"}, 1, "nobody"},
		{[]string{"get", "nodse"}, 2, "nodes"},
	} {
		r := h.Try(tc.args...)
		if r.Code != tc.code || !strings.Contains(r.Err, tc.want) || !strings.HasPrefix(r.Err, "error: ") {
			t.Errorf("%v: exit status %d, want %d, and %q in:\n%s", tc.args, r.Code, tc.code, tc.want, r.Both())
		}
	}
}

// A topology without nodes is vCenters and an empty cluster, and a word about it.
func TestNoNodes(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := h.File("plain.yaml", strings.Replace(header, "bad", "plain", 1)+
		"spec:\n  vcenters:\n  - name: a\n    datacenters:\n    - name: dc\n      hosts: [{name: esx-1}]\n      vms:\n      - {name: vm}\n")
	r := h.Try("--name", "plain", "up", "--detach", path)
	if r.Code != 0 || !strings.Contains(r.Err, "no nodes") {
		t.Fatalf("exit status %d\n%s", r.Code, r.Both())
	}
	s := h.attach("plain")
	if st := s.Status(); st.Nodes.Wanted != 0 || st.VCenters[0].VMs != 1 {
		t.Errorf("%+v", st)
	}
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := h.Try("up", "single", "--api-port", fmt.Sprint(l.Addr().(*net.TCPAddr).Port))
	if r.Code != 4 || !strings.Contains(r.Err, "is in use") || !strings.Contains(r.Err, "try: ") {
		t.Errorf("exit status %d\n%s", r.Code, r.Both())
	}
	h.nothingLeft()
}

func TestUnwritableStateDirectory(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	if err := os.Chmod(h.State, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(h.State, 0o700)
	if os.Geteuid() != 0 && as == nil {
		if f, err := os.Create(filepath.Join(h.State, "probe")); err == nil {
			f.Close()
			t.Skip("this user may write everywhere")
		}
	}
	r := h.Try("up", "single")
	if r.Code != 4 || !strings.Contains(r.Err, "permission denied") || !strings.Contains(r.Err, "VSPHERE_SANDBOX_STATE") {
		t.Errorf("exit status %d\n%s", r.Code, r.Both())
	}
}

// The disk fills up at some moment of the boot: it fails, says why, and leaves nothing running.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount a small file system")
	}
	for _, size := range []string{"16k", "200k", "2m"} {
		t.Run(size, func(t *testing.T) {
			h := newHome(t)
			opts := fmt.Sprintf("size=%s,mode=0700,uid=%d,gid=%d", size, as.Uid, as.Gid)
			if err := syscall.Mount("tmpfs", h.State, "tmpfs", 0, opts); err != nil {
				t.Skipf("mount: %v", err)
			}
			defer func() {
				if err := syscall.Unmount(h.State, 0); err != nil {
					t.Error(err)
				}
			}()
			r := h.Try("up", "single", "--ignore-preflight-errors=disk") // which sees that it is too small
			if r.Code == 0 || r.Code == 130 || !strings.Contains(r.Err, "no space left on device") {
				t.Errorf("exit status %d\n%s", r.Code, r.Both())
			}
			h.nothingLeft()
		})
	}
}

// Help is for reading: every command has it, and it goes to stdout.
func TestHelp(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	r := h.Try("--help")
	if r.Code != 0 || r.Err != "" {
		t.Errorf("exit status %d\n%s", r.Code, r.Err)
	}
	for _, c := range []string{"up", "down", "list", "status", "get", "vm", "vcenter", "events", "logs", "wait", "env", "kubectl", "govc", "doctor", "version", "completion"} {
		if !bytes.Contains([]byte(r.Out), []byte("\n  "+c+" ")) {
			t.Errorf("help does not name %s", c)
		}
		if sub := h.Try(c, "--help"); sub.Code != 0 || len(sub.Out) < 100 {
			t.Errorf("%s --help: exit status %d\n%s", c, sub.Code, sub.Both())
		}
	}
	if strings.Contains(r.Out, "control-plane --config") {
		t.Error("help shows the commands of children")
	}
}
