package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// leases lists the faults of a sandbox as the command does.
func (s *sandbox) leases() []api.Lease {
	s.T.Helper()
	var list struct{ Items []api.Lease }
	if err := json.Unmarshal([]byte(s.Run("fault", "leases", "--all", "-o", "json")), &list); err != nil {
		s.T.Fatal(err)
	}
	return list.Items
}

func (s *sandbox) power(vm string) string {
	s.T.Helper()
	all, err := s.Client.VMs(s.T.Context())
	if err != nil {
		s.T.Fatal(err)
	}
	i := slices.IndexFunc(all, func(v api.VM) bool { return v.Name == vm })
	if i < 0 {
		s.T.Fatalf("there is no VM %s", vm)
	}
	return all[i].Power
}

// A fault is injected, refused where it cannot be, and healed once; what is asked wrongly touches nothing. A sandbox that
// is killed with faults in it leaves nothing: the next command cleans up, and says which faults ended.
func faults(s *sandbox) {
	t := s.T
	h := s.home

	dry := s.Run("fault", "inject", "vm.power-off", "worker-1", "--dry-run")
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
		r := h.Try(append([]string{"--name", s.Name, "fault", "inject"}, tc.args...)...)
		if r.Code != tc.code || !strings.HasPrefix(r.Err, "error: ") {
			t.Errorf("inject %v: exit status %d, want %d\n%s", tc.args, r.Code, tc.code, r.Both())
		}
		for _, want := range tc.want {
			if !strings.Contains(r.Err, want) {
				t.Errorf("inject %v: no %q in\n%s", tc.args, want, r.Err)
			}
		}
	}
	if left := s.leases(); len(left) > 0 || s.power("worker-1") != "on" {
		t.Errorf("what was refused has left %+v", left)
	}

	id := strings.TrimPrefix(strings.TrimSpace(s.Run("fault", "inject", "vm.power-off", "worker-1", "-o", "name")), "lease/")
	// The fault is in force; the sandbox observes that at the vCenter, as any client does.
	s.Await("the VM is off", 10*time.Second, func() bool { return s.power("worker-1") == "off" })
	for _, other := range []string{"vm.power-off", "vm.suspend"} { // it is off, and has a lease on its power
		if r := h.Try("--name", s.Name, "fault", "inject", other, "worker-1"); r.Code != 1 || !strings.Contains(r.Err, id) {
			t.Errorf("%s on top of it: exit status %d\n%s", other, r.Code, r.Both())
		}
	}
	if r := h.Try("--name", s.Name, "vm", "power-off", "worker-1"); r.Code != 1 {
		t.Errorf("off and off again: exit status %d\n%s", r.Code, r.Both())
	}
	s.Run("fault", "heal", id)
	s.Await("the VM is on", 10*time.Second, func() bool { return s.power("worker-1") == "on" })
	if again := s.Run("fault", "heal", id); !strings.Contains(again, "already") {
		t.Errorf("healed twice: %s", again)
	}
	if r := h.Try("--name", s.Name, "fault", "heal", "f99"); r.Code != 1 || !strings.Contains(r.Err, "f99") {
		t.Errorf("exit status %d\n%s", r.Code, r.Both())
	}
	s.Run("fault", "heal", "--all")

	s.Run("fault", "inject", "vm.power-off", "worker-1", "--for", "1s")
	s.Await("the fault heals by itself", 30*time.Second, func() bool { return s.power("worker-1") == "on" })

	s.Run("fault", "inject", "vcenter.down")
	pid := s.Status().PID
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	h.awaitNoProcesses() // until it is gone, it may accept a connection and reset it
	if r := h.Try("--name", s.Name, "fault", "leases"); r.Code != 1 || !strings.Contains(r.Err, "vcenter.down") {
		t.Errorf("leases of a killed sandbox: exit status %d\n%s", r.Code, r.Both())
	}
	h.Must("--name", s.Name, "down") // until then its files are kept
	h.nothingLeft()
}
