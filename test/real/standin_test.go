package real

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// standIn is a vCenter that is not the sandbox's: a process that was started for the test.
type standIn struct {
	t       *testing.T
	kind    string
	address string // host:port
	ca      string // file
	account
	reader account // who may only read; empty where the stand-in knows no permissions
}

// account is whom to be there.
type account struct{ User, Password string }

// The VMs of both stand-ins are in the folder k8s and in the folder other, each of which is below /DC0/vm; those of the
// former are nodes.
const (
	folder = "/DC0/vm/k8s"
	other  = "/DC0/vm/other"
)

// everywhere runs a test against both stand-ins, each well: with zones, with guests that speak, with disk.enableUUID.
func everywhere(t *testing.T, test func(*testing.T, *standIn)) {
	t.Helper()
	for kind, start := range map[string]func(*testing.T) *standIn{"stock": furnished, "own": permitted} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, start(t))
		})
	}
}

// furnished is a stock simulator on which an administrator has been at work: four VMs in two zones, three of them in the
// folder of nodes.
func furnished(t *testing.T) *standIn {
	t.Helper()
	s := stock(t, "-clusters", "2", "-vms", "2", "-hosts", "2", "-version", "8.0.3", "-nodes", "far", "-zones", "far", "-disk-uuid", "-hardware", "vmx-19")
	s.govc("folder.create", folder, other)
	s.govc("object.mv", "/DC0/vm/DC0_C0_RP0_VM0", "/DC0/vm/DC0_C0_RP0_VM1", "/DC0/vm/DC0_C1_RP0_VM0", folder)
	s.govc("object.mv", "/DC0/vm/DC0_C1_RP0_VM1", other)
	return s
}

// stock is a stock simulator as the flags of hack/stocksim have it.
func stock(t *testing.T, args ...string) *standIn {
	t.Helper()
	dir := t.TempDir()
	c := exec.Command(stocksim, append([]string{"-address", "127.0.0.1:0", "-ca", filepath.Join(dir, "ca.pem")}, args...)...)
	c.Env = append(os.Environ(), "TMPDIR="+dir)
	c.Stderr = t.Output() // closed with the test, which waits for the process
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // which ends it
		if err := c.Wait(); err != nil {
			t.Errorf("stocksim: %v", err)
		}
	})
	var ready struct{ Address, User, Password, CA string }
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		t.Fatalf("stocksim does not come up: %v", err)
	}
	return &standIn{t: t, kind: "stock", address: ready.Address, ca: ready.CA, account: account{ready.User, ready.Password}}
}

// permitted is "vsphere-sandbox vcenter up" in a separate home, with a user who may only read.
func permitted(t *testing.T) *standIn {
	t.Helper()
	topology, err := filepath.Abs(filepath.Join("testdata", "own.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	h := newHome(t)
	env := filepath.Join(h.Tmp, "env")
	h.Must("--name", "standin", "vcenter", "up", "-f", topology, "-E", env, "--detach")
	text, err := os.ReadFile(env)
	if err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "="); ok {
			vars[name] = strings.Trim(value, "'")
		}
	}
	address := strings.TrimSuffix(strings.TrimPrefix(vars["GOVC_URL"], "https://"), "/sdk")
	s := &standIn{
		t: t, kind: "own", address: address, ca: vars["GOVC_TLS_CA_CERTS"], account: account{vars["GOVC_USERNAME"], vars["GOVC_PASSWORD"]},
		reader: account{"reader@vsphere.local", "secret of the reader"},
	}
	if s.address == "" || s.ca == "" || s.Password == "" {
		t.Fatalf("variables:\n%s", text)
	}
	return s
}

// as is the stand-in for another account.
func (s *standIn) as(a account) *standIn {
	other := *s
	other.account = a
	return &other
}

// at is the stand-in at another address, which shows a certificate of another authority.
func (s *standIn) at(address, ca string) *standIn {
	other := *s
	other.address, other.ca = address, ca
	return &other
}

// environ are govc's variables.
func (s *standIn) environ() []string {
	return []string{"GOVC_URL=" + s.address, "GOVC_USERNAME=" + s.User, "GOVC_PASSWORD=" + s.Password, "GOVC_TLS_CA_CERTS=" + s.ca}
}

// config writes a vsphere.conf that leads to it.
func (s *standIn) config(h *home, more ...string) string {
	s.t.Helper()
	host, port, _ := strings.Cut(s.address, ":")
	text := fmt.Sprintf("vcenter:\n  far:\n    server: %s\n    port: %s\n    user: %s\n    password: %q\n", host, port, s.User, s.Password)
	if s.ca != "" {
		text += "    caFile: " + s.ca + "\n"
	}
	text += strings.Join(more, "")
	f, err := os.CreateTemp(h.Tmp, "vsphere-*.conf")
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = f.WriteString(text + "labels: {region: k8s-region, zone: k8s-zone}\n")
	if err := errors.Join(err, f.Close()); err != nil {
		s.t.Fatal(err)
	}
	return f.Name()
}

// govc runs govc there, with a separate session.
func (s *standIn) govc(args ...string) string {
	s.t.Helper()
	r := s.tryGovc(args...)
	if r.Code != 0 {
		s.t.Fatalf("govc %s: exit status %d\n%s", strings.Join(args, " "), r.Code, r.Both())
	}
	return r.Out
}

// tryGovc does so where it may fail.
func (s *standIn) tryGovc(args ...string) program.Result {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	dir := s.t.TempDir()
	c := exec.Command(self, args...)
	c.Env = append(s.environ(), asGovc+"=yes", "HOME="+dir, "GOVMOMI_HOME="+dir, "PATH="+os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0")
	return program.Finish(s.t, c, 30*time.Second)
}

// machine is a VM as govc has it.
type machine struct {
	Name    string
	Summary struct {
		Config struct{ Uuid string }
	}
	Runtime struct{ PowerState string }
	Guest   struct {
		HostName  string
		IPAddress string
	}
}

// machines are the VMs of the folder of nodes, by the host names of their guests.
func (s *standIn) machines() map[string]machine {
	s.t.Helper()
	var found struct{ VirtualMachines []machine }
	out := s.govc("vm.info", "-json", folder+"/*")
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		s.t.Fatalf("govc vm.info: %v\n%s", err, out)
	}
	all := map[string]machine{}
	for _, m := range found.VirtualMachines {
		all[m.Guest.HostName] = m
	}
	return all
}

// power is the power state of a VM, by its name.
func (s *standIn) power(path string) string {
	s.t.Helper()
	var found struct{ VirtualMachines []machine }
	out := s.govc("vm.info", "-json", path)
	if err := json.Unmarshal([]byte(out), &found); err != nil || len(found.VirtualMachines) != 1 {
		s.t.Fatalf("govc vm.info %s: %v\n%s", path, err, out)
	}
	return found.VirtualMachines[0].Runtime.PowerState
}
