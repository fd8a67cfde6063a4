package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

func itoa[T ~int | ~int32 | ~int64](n T) string { return fmt.Sprint(int64(n)) }

// reaction is how long the cluster may take to notice that a node is gone, at the default speed of 10: grace 5 s, and
// room for a busy machine.
const reaction = 30 * time.Second

func TestPowerOffAndOn(t *testing.T) {
	t.Parallel()
	s := newHome(t).up("power")
	const name = "worker-west-1"
	// The cloud-node controller writes the addresses after it has taken the taint away.
	s.await("its addresses", reaction, func() bool { return len(s.node(name).Addresses) > 0 })
	before := s.node(name)
	s.vm("power-off", name)
	s.await("NotReady", reaction, func() bool { return s.node(name).Ready == "Unknown" })
	s.await("shutdown taint", reaction, func() bool { return tainted(s.node(name), taintShutdown) })
	s.vm("power-on", name)
	s.await("well again", reaction, func() bool { return well(s.node(name)) })
	after := s.node(name)
	if after.ProviderID != before.ProviderID || !slices.Equal(after.Addresses, before.Addresses) || !after.Created.Equal(before.Created) {
		t.Errorf("the node came back as another:\nbefore %+v\nafter  %+v", before, after)
	}
	checkChain(s, name)
}

// checkChain wants the shutdown taint to be traced back, event by event, to the command.
func checkChain(s *sandbox, name string) {
	s.t.Helper()
	var taint event.Event
	for _, e := range s.eventsSince(0, "node.tainted") {
		if e.Object.Name == name && e.Message == "taint "+taintShutdown {
			taint = e
		}
	}
	s.checkCauses(taint, "node.tainted", "node.unknown", "child.stopped", "vm.powered-off", "command.power-off")
}

func TestSuspendAndResume(t *testing.T) {
	t.Parallel()
	s := newHome(t).up("suspend")
	const name = "worker-east-1"
	s.vm("suspend", name)
	s.await("NotReady", reaction, func() bool { return s.node(name).Ready == "Unknown" })
	s.await("shutdown taint", reaction, func() bool { return tainted(s.node(name), taintShutdown) })
	pid := s.component("node/" + name).PID
	s.vm("power-on", name)
	s.await("well again", reaction, func() bool { return well(s.node(name)) })
	if again := s.component("node/" + name).PID; again != pid || pid == 0 {
		t.Errorf("the kubelet went on as process %d, was %d: a resumed guest does not boot", again, pid)
	}
}

func TestHangAndReset(t *testing.T) {
	t.Parallel()
	s := newHome(t).up("hang")
	const name = "worker-eu-1"
	s.vm("hang", name)
	s.await("NotReady", reaction, func() bool { return s.node(name).Ready == "Unknown" })
	s.never("a VM that runs is called shut down", 5*time.Second, func() string {
		if tainted(s.node(name), taintShutdown) {
			return "shutdown taint"
		}
		return ""
	})
	s.vm("reset", name)
	s.await("well again", reaction, func() bool { return well(s.node(name)) })
}

func TestDestroy(t *testing.T) {
	t.Parallel()
	s := newHome(t).up("destroy")
	const name = "worker-eu-2"
	s.vm("destroy", name, "--yes")
	s.await("Node object gone", reaction, func() bool { return !s.node(name).Registered })
	for _, n := range []string{"cp-1", "worker-west-1", "worker-east-1", "worker-east-2", "worker-eu-1"} {
		if !well(s.node(n)) {
			t.Errorf("node %s is not well: %+v", n, s.node(n))
		}
	}
	if c := s.component("node/" + name); c.State != "stopped" || c.PID != 0 {
		t.Errorf("its kubelet is %s, pid %d", c.State, c.PID)
	}
}

func TestMove(t *testing.T) {
	t.Parallel()
	s := newHome(t).up("move")
	const name = "worker-west-1"
	hosts, err := s.client.Hosts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := func() string {
		vms, err := s.client.VMs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range vms {
			if v.Name == name {
				return v.Host
			}
		}
		return ""
	}
	from, to := at(), ""
	for _, h := range hosts {
		if h.Datacenter == "dcwest" && h.Name != from {
			to = h.Name
		}
	}
	s.vm("move", name, "--to", to)
	s.await("on host "+to, reaction, func() bool { return at() == to })
	s.never("a vMotion is noticed by the cluster", 6*time.Second, func() string {
		if !well(s.node(name)) {
			return fmt.Sprintf("%+v", s.node(name))
		}
		return ""
	})
}

// What a guest says of its name is a stranger's word: no path is made of it, and a node that cannot be named is an event.
func TestHostileHostname(t *testing.T) {
	t.Parallel()
	s := newHome(t).up("hostile", "single")
	begin := s.last()
	s.run("govc", "vm.change", "-vm", "worker-1", "-e", "SET.guest.hostName=../../../../evil")
	s.vm("reset", "worker-1")
	s.await("it is refused", reaction, func() bool {
		for _, e := range s.eventsSince(begin, "child.exited") {
			if strings.Contains(e.Message, "../../../../evil") && strings.Contains(e.Message, "no name for a node") {
				return true
			}
		}
		return false
	})
	for _, path := range []string{filepath.Join(s.state, "..", "evil"), filepath.Join(s.state, "evil"), "/tmp/evil"} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s was made", path)
		}
	}
	if !well(s.node("worker-2")) {
		t.Errorf("the other node: %+v", s.node("worker-2"))
	}
}
