package e2e

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// euNodes and usNodes are those of the default scenario, by vCenter.
var (
	usNodes = []string{"cp-1", "worker-west-1", "worker-east-1", "worker-east-2"}
	euNodes = []string{"worker-eu-1", "worker-eu-2"}
)

// unwell names the first of the nodes that is not well.
func (s *sandbox) unwell(names []string) string {
	for _, n := range names {
		if row := s.Node(n); !well(row) {
			return fmt.Sprintf("node %s: %+v", n, row)
		}
	}
	return ""
}

// A vCenter that is down for a minute deletes no node and taints none of another vCenter, although one of its VMs fails
// in that time; when it is back, that VM is known to be off.
func vCenterOutage(s *sandbox) {
	t := s.T
	long(t)
	s.Run("vcenter", "down", "eu")
	s.vm("power-off", "worker-eu-1") // at the console, so to speak
	begin := s.Last()
	s.never("a node is deleted or another vCenter's node suffers", time.Minute, func() string {
		if gone := s.Since(begin, "node.deleted"); len(gone) > 0 {
			return "deleted: " + gone[0].Object.Name
		}
		if n := s.Node("worker-eu-1"); tainted(n, taintShutdown) {
			return "shutdown taint on the word of a vCenter that cannot be asked"
		}
		return s.unwell(append([]string{"worker-eu-2"}, usNodes...))
	})
	// The living vCenter's nodes are looked after all the while.
	s.vm("power-off", "worker-west-1")
	s.Await("the other vCenter's VM is known to be off", reaction, func() bool { return tainted(s.Node("worker-west-1"), taintShutdown) })
	s.Run("vcenter", "up", "eu")
	s.Await("its own VM is known to be off", time.Minute, func() bool { return tainted(s.Node("worker-eu-1"), taintShutdown) })
	s.vm("power-on", "worker-eu-1")
	s.vm("power-on", "worker-west-1")
	s.Await("all well", time.Minute, func() bool { return s.unwell(append(usNodes, euNodes...)) == "" })
}

// A vCenter that accepts connections and never answers is no better than one that is down, and no worse.
func hungVCenter(s *sandbox) {
	s.Run("vcenter", "hang", "eu")
	s.vm("power-off", "worker-east-1")
	s.Await("the other vCenter's VM is known to be off", reaction, func() bool { return tainted(s.Node("worker-east-1"), taintShutdown) })
	s.Run("vcenter", "up", "eu")
	s.vm("power-on", "worker-east-1")
	s.Await("all well", time.Minute, func() bool { return s.unwell(append(usNodes, euNodes...)) == "" })
}

// A cloud controller manager that starts while a vCenter is down serves the others, deletes nothing, and catches up.
func vCenterDownWhenCCMStarts(s *sandbox) {
	s.Run("vcenter", "down", "eu")
	s.vm("power-off", "worker-eu-1")
	s.Await("NotReady", reaction, func() bool { return s.Node("worker-eu-1").Ready == "Unknown" })
	begin := s.Last()
	s.killComponent("ccm")
	s.vm("power-off", "worker-east-1")
	s.Await("the living vCenter's VM is known to be off", reaction, func() bool { return tainted(s.Node("worker-east-1"), taintShutdown) })
	s.Await("the cloud controller manager says which vCenter it cannot reach", reaction, func() bool {
		return slices.ContainsFunc(s.Since(begin, "ccm.vcenter-unreachable"), func(e event.Event) bool { return e.Object.Name == "eu" })
	})
	s.never("a node is deleted on the word of nobody", 10*time.Second, func() string {
		if gone := s.Since(begin, "node.deleted"); len(gone) > 0 {
			return gone[0].Object.Name
		}
		return ""
	})
	s.Run("vcenter", "up", "eu")
	s.Await("caught up", time.Minute, func() bool { return tainted(s.Node("worker-eu-1"), taintShutdown) })
}

// A wrong password gives an Event that names the vCenter and not the password, deletes nothing, and is over when the
// Secret is corrected.
func wrongPassword(s *sandbox) {
	t := s.T
	access, err := s.Client.Access(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	set := func(password string) {
		for _, a := range access {
			if a.VCenter == "eu" {
				host, _, _ := strings.Cut(strings.TrimPrefix(a.URL, "https://"), ":")
				if password == "" {
					password = a.Password
				}
				s.Run("kubectl", "-n", "kube-system", "patch", "secret", "vsphere-cloud-secret", "--type=merge", "-p",
					fmt.Sprintf(`{"data":{%q:%q}}`, host+".password", base64.StdEncoding.EncodeToString([]byte(password))))
			}
		}
	}
	begin := s.Last()
	set("certainly wrong")
	s.killComponent("ccm")
	s.Await("a clear event", reaction, func() bool {
		for _, e := range s.Since(begin, "ccm.vcenter-login-failed") {
			if e.Object.Name == "eu" {
				if strings.Contains(e.Message, "certainly wrong") {
					t.Errorf("the event tells the password: %s", e.Message)
				}
				return true
			}
		}
		return false
	})
	s.vm("power-off", "worker-eu-1")
	s.vm("power-off", "worker-east-1")
	s.Await("the other vCenter's VM is known to be off", reaction, func() bool { return tainted(s.Node("worker-east-1"), taintShutdown) })
	s.never("a node is deleted for want of a password", 5*time.Second, func() string {
		if gone := s.Since(begin, "node.deleted"); len(gone) > 0 {
			return gone[0].Object.Name
		}
		return ""
	})
	set("")
	s.Await("mended", reaction, func() bool { return tainted(s.Node("worker-eu-1"), taintShutdown) })
}

// killComponent kills a child and waits until it has been started again.
func (s *sandbox) killComponent(name string) {
	s.T.Helper()
	pid := s.Component(name).PID
	if pid == 0 {
		s.T.Fatalf("component %s does not run", name)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		s.T.Fatal(err)
	}
	s.Await(name+" started again", reaction, func() bool {
		c := s.Component(name)
		return c.PID != 0 && c.PID != pid && c.State == "running"
	})
}

// A VM that is destroyed while another vCenter cannot be asked might have moved there, for all anybody knows: its node
// stays until that vCenter has said that it has not.
func destroyWhileAnotherVCenterIsDown(s *sandbox) {
	s.Run("vcenter", "down", "eu")
	s.vm("destroy", "worker-east-2", "--yes")
	s.Await("NotReady", reaction, func() bool { return s.Node("worker-east-2").Ready == "Unknown" })
	s.never("the node is deleted in doubt", 8*time.Second, func() string {
		if !s.Node("worker-east-2").Registered {
			return "Node object gone"
		}
		return ""
	})
	s.Run("vcenter", "up", "eu")
	s.Await("Node object gone", time.Minute, func() bool { return !s.Node("worker-east-2").Registered })
}

// A vCenter that is merely slow is asked with patience: a destroyed VM's node goes, and nothing else does.
func slowVCenter(s *sandbox) {
	t := s.T
	s.Run("vcenter", "slow", "us", "--delay", "1s")
	s.vm("destroy", "worker-east-1", "--yes")
	s.vm("power-off", "worker-eu-1")
	s.Await("the other vCenter's VM is known to be off", reaction, func() bool { return tainted(s.Node("worker-eu-1"), taintShutdown) })
	s.Await("Node object gone", time.Minute, func() bool { return !s.Node("worker-east-1").Registered })
	if bad := s.unwell([]string{"cp-1", "worker-west-1"}); bad != "" {
		t.Error(bad)
	}
}
