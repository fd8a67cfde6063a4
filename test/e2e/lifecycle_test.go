package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

func itoa[T ~int | ~int32 | ~int64](n T) string { return fmt.Sprint(int64(n)) }

// reaction is how long the cluster may take to notice that a node is gone, at the default speed of 10: grace 5 s, and
// room for a busy machine.
const reaction = 30 * time.Second

func powerOffAndOn(s *sandbox) {
	t := s.T
	const name = "worker-west-1"
	// The cloud-node controller writes the addresses after it has taken the taint away.
	s.Await("its addresses", reaction, func() bool { return len(s.Node(name).Addresses) > 0 })
	before := s.Node(name)
	s.vm("power-off", name)
	s.Await("NotReady", reaction, func() bool { return s.Node(name).Ready == "Unknown" })
	s.Await("shutdown taint", reaction, func() bool { return tainted(s.Node(name), taintShutdown) })
	s.vm("power-on", name)
	s.Await("well again", reaction, func() bool { return well(s.Node(name)) })
	after := s.Node(name)
	if after.ProviderID != before.ProviderID || !slices.Equal(after.Addresses, before.Addresses) || !after.Created.Equal(before.Created) {
		t.Errorf("the node came back as another:\nbefore %+v\nafter  %+v", before, after)
	}
	checkChain(s, name)
}

// checkChain wants the shutdown taint to be traced back, event by event, to the command.
func checkChain(s *sandbox, name string) {
	s.T.Helper()
	var taint event.Event
	for _, e := range s.Since(0, "node.tainted") {
		if e.Object.Name == name && e.Message == "taint "+taintShutdown {
			taint = e
		}
	}
	s.checkCauses(taint, "node.tainted", "node.unknown", "child.stopped", "vm.powered-off", "command.power-off")
}

func suspendAndResume(s *sandbox) {
	t := s.T
	const name = "worker-east-1"
	s.vm("suspend", name)
	s.Await("NotReady", reaction, func() bool { return s.Node(name).Ready == "Unknown" })
	s.Await("shutdown taint", reaction, func() bool { return tainted(s.Node(name), taintShutdown) })
	pid := s.Component("node/" + name).PID
	s.vm("power-on", name)
	s.Await("well again", reaction, func() bool { return well(s.Node(name)) })
	if again := s.Component("node/" + name).PID; again != pid || pid == 0 {
		t.Errorf("the kubelet went on as process %d, was %d: a resumed guest does not boot", again, pid)
	}
}

func hangAndReset(s *sandbox) {
	const name = "worker-eu-1"
	s.vm("hang", name)
	s.Await("NotReady", reaction, func() bool { return s.Node(name).Ready == "Unknown" })
	s.never("a VM that runs is called shut down", 5*time.Second, func() string {
		if tainted(s.Node(name), taintShutdown) {
			return "shutdown taint"
		}
		return ""
	})
	s.vm("reset", name)
	s.Await("well again", reaction, func() bool { return well(s.Node(name)) })
}

func destroy(s *sandbox) {
	t := s.T
	const name = "worker-eu-2"
	s.vm("destroy", name, "--yes")
	s.Await("Node object gone", reaction, func() bool { return !s.Node(name).Registered })
	for _, n := range []string{"cp-1", "worker-west-1", "worker-east-1", "worker-eu-1"} {
		if !well(s.Node(n)) {
			t.Errorf("node %s is not well: %+v", n, s.Node(n))
		}
	}
	if c := s.Component("node/" + name); c.State != "stopped" || c.PID != 0 {
		t.Errorf("its kubelet is %s, pid %d", c.State, c.PID)
	}
}

func move(s *sandbox) {
	t := s.T
	const name = "worker-west-1"
	hosts, err := s.Client.Hosts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := func() string {
		vms, err := s.Client.VMs(t.Context())
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
	s.Await("on host "+to, reaction, func() bool { return at() == to })
	s.never("a vMotion is noticed by the cluster", 6*time.Second, func() string {
		if !well(s.Node(name)) {
			return fmt.Sprintf("%+v", s.Node(name))
		}
		return ""
	})
}

// What a guest says of its name is a stranger's word: no path is made of it, and a node that cannot be named is an event.
func hostileHostname(s *sandbox) {
	t := s.T
	begin := s.Last()
	s.Run("govc", "vm.change", "-vm", "worker-2", "-e", "SET.guest.hostName=../../../../evil")
	s.vm("reset", "worker-2")
	s.Await("it is refused", reaction, func() bool {
		for _, e := range s.Since(begin, "child.exited") {
			if strings.Contains(e.Message, "../../../../evil") && strings.Contains(e.Message, "no name for a node") {
				return true
			}
		}
		return false
	})
	for _, path := range []string{filepath.Join(s.State, "..", "evil"), filepath.Join(s.State, "evil"), "/tmp/evil"} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s was made", path)
		}
	}
	if !well(s.Node("worker-1")) {
		t.Errorf("the other node: %+v", s.Node("worker-1"))
	}
	s.Run("govc", "vm.change", "-vm", "worker-2", "-e", "SET.guest.hostName=worker-2")
	s.vm("reset", "worker-2")
}
