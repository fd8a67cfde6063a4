package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// leases lists the faults of a sandbox as the command does.
func (s *sandbox) leases() []api.Lease {
	s.t.Helper()
	var list struct{ Items []api.Lease }
	if err := json.Unmarshal([]byte(s.run("fault", "leases", "--all", "-o", "json")), &list); err != nil {
		s.t.Fatal(err)
	}
	return list.Items
}

func (s *sandbox) power(vm string) string {
	s.t.Helper()
	all, err := s.client.VMs(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(v api.VM) bool { return v.Name == vm })
	if i < 0 {
		s.t.Fatalf("there is no VM %s", vm)
	}
	return all[i].Power
}

// A fault is injected, refused where it cannot be, and healed once; what is asked wrongly touches nothing. A sandbox that
// is killed with faults in it leaves nothing: the next command cleans up, and says which faults ended.
func TestFaults(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	s := h.up("faults", "single")

	dry := s.run("fault", "inject", "vm.power-off", "worker-1", "--dry-run")
	if !strings.Contains(dry, "power off") || len(s.leases()) != 0 || s.power("worker-1") != "on" {
		t.Errorf("a plan is more than one:\n%s", dry)
	}
	for _, tc := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"vm.poweroff", "worker-1"}, 2, []string{`did you mean "vm.power-off"`, "fault list"}},
		{[]string{"vm.power-off", "wroker-1"}, 1, []string{`did you mean "worker-1"`}},
		{[]string{"vm.power-off", "--zone", "nowhere"}, 1, []string{"nowhere"}},
		{[]string{"vm.power-off", "worker-1", "--mode", "150%"}, 2, []string{"150%"}},
		{[]string{"vm.power-off", "worker-1", "--for", "soon"}, 2, []string{"soon"}},
		{[]string{"vcenter.latency", "--set", "delya=1s"}, 2, []string{"delya", "delay"}},
		{[]string{"vcenter.latency", "--set", "delay=much"}, 2, []string{"much"}},
	} {
		r := h.try(append([]string{"--name", s.name, "fault", "inject"}, tc.args...)...)
		if r.code != tc.code || !strings.HasPrefix(r.err, "error: ") {
			t.Errorf("inject %v: exit status %d, want %d\n%s", tc.args, r.code, tc.code, r.both())
		}
		for _, want := range tc.want {
			if !strings.Contains(r.err, want) {
				t.Errorf("inject %v: no %q in\n%s", tc.args, want, r.err)
			}
		}
	}
	if left := s.leases(); len(left) > 0 || s.power("worker-1") != "on" {
		t.Errorf("what was refused has left %+v", left)
	}

	id := strings.TrimPrefix(strings.TrimSpace(s.run("fault", "inject", "vm.power-off", "worker-1", "-o", "name")), "lease/")
	if s.power("worker-1") != "off" {
		t.Error("the VM is on")
	}
	for _, other := range []string{"vm.power-off", "vm.suspend"} { // it is off, and has a lease on its power
		if r := h.try("--name", s.name, "fault", "inject", other, "worker-1"); r.code != 1 || !strings.Contains(r.err, id) {
			t.Errorf("%s on top of it: exit status %d\n%s", other, r.code, r.both())
		}
	}
	if r := h.try("--name", s.name, "vm", "power-off", "worker-1"); r.code != 1 {
		t.Errorf("off and off again: exit status %d\n%s", r.code, r.both())
	}
	s.run("fault", "heal", id)
	if s.power("worker-1") != "on" {
		t.Error("the VM is off")
	}
	if again := s.run("fault", "heal", id); !strings.Contains(again, "already") {
		t.Errorf("healed twice: %s", again)
	}
	if r := h.try("--name", s.name, "fault", "heal", "f99"); r.code != 1 || !strings.Contains(r.err, "f99") {
		t.Errorf("exit status %d\n%s", r.code, r.both())
	}
	s.run("fault", "heal", "--all")

	s.run("fault", "inject", "vm.power-off", "worker-1", "--for", "1s")
	s.await("the fault heals by itself", 30*time.Second, func() bool { return s.power("worker-1") == "on" })

	s.run("fault", "inject", "vcenter.down")
	pid := s.status().PID
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if r := h.try("--name", s.name, "fault", "leases"); r.code != 1 || !strings.Contains(r.err, "vcenter.down") {
		t.Errorf("leases of a killed sandbox: exit status %d\n%s", r.code, r.both())
	}
	h.checkNothingLeft()
}
