package real

import (
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Hollow nodes are bound to real VMs, and follow what others do to these.
func TestFollow(t *testing.T) {
	everywhere(t, func(t *testing.T, s *standIn) {
		follows(t, s, s.config)
	})
}

// The user who may only read can do the same: nothing is written.
func TestFollowAsReader(t *testing.T) {
	t.Parallel()
	s := permitted(t)
	follows(t, s, s.as(s.reader).config)
}

// So are light ones.
func TestFollowLight(t *testing.T) {
	t.Parallel()
	s := permitted(t)
	h := newHome(t)
	box := h.up("light", "--vcenter-config", s.config(h), "--folder", "k8s", "--light")
	if g := box.Status().Ground; g.Nodes != api.NodesLight || g.Inventory != api.InventoryReal {
		t.Errorf("stands on %+v", g)
	}
	all := func() bool { return well(box.Node("far-1")) && well(box.Node("far-2")) && well(box.Node("far-3")) }
	box.Await("every node is well", time.Minute, all)
	vm := folder + "/" + s.machines()["far-2"].Name
	s.govc("vm.power", "-off", vm)
	box.Await("far-2 is said to be shut down", time.Minute, func() bool { return tainted(box.Node("far-2")) })
	s.govc("vm.power", "-on", vm)
	box.Await("every node is well again", 2*time.Minute, all)
	h.Must("--name", "light", "down")
	h.nothingLeft()
}

// follows boots a sandbox, and powers a VM off and on from outside.
func follows(t *testing.T, s *standIn, config func(*home, ...string) string) {
	t.Helper()
	h := newHome(t)
	box := h.up("follow", "--vcenter-config", config(h), "--folder", "k8s")
	all := func() bool { return well(box.Node("far-1")) && well(box.Node("far-2")) && well(box.Node("far-3")) }
	box.Await("every node is well", time.Minute, all)
	if n := len(h.nodes("follow")); n != 3 {
		t.Errorf("%d nodes\n%s", n, box.World())
	}
	vm := folder + "/" + s.machines()["far-2"].Name
	s.govc("vm.power", "-off", vm)
	box.Await("far-2 is said to be shut down", time.Minute, func() bool { return tainted(box.Node("far-2")) })
	s.govc("vm.power", "-on", vm)
	if s.kind == "stock" { // whose guests forget nothing, and whose tools do not start
		s.govc("vm.change", "-vm", vm, "-e", "SET.guest.toolsRunningStatus=guestToolsRunning")
	}
	box.Await("every node is well again", 2*time.Minute, all)
	h.Must("--name", "follow", "down")
	for name, m := range s.machines() {
		if m.Runtime.PowerState != "poweredOn" {
			t.Errorf("%s is %s", name, m.Runtime.PowerState)
		}
	}
	h.nothingLeft()
}
