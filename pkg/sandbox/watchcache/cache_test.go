package watchcache

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

const uuidA, uuidB = "42000000-0000-4000-8000-00000000000a", "42000000-0000-4000-8000-00000000000b"

// facts returns what identifies the VM of a node.
func facts(n api.Node, systemUUID string) match.Node {
	return match.Node{Name: n.Name, ProviderID: n.ProviderID, SystemUUID: systemUUID}
}

func TestWatchNodes(t *testing.T) {
	// Nodes come and go beside their VMs.
	var c Cache
	lines, reader := c.Read()
	if len(lines) != 0 {
		t.Fatal(lines)
	}
	defer reader.Close()
	reported := func(want ...string) {
		t.Helper()
		got := []string{}
		changes, _ := reader.Take()
		for _, l := range changes.Lines {
			got = append(got, nodeText(t, l)...)
		}
		if !slices.Equal(want, got) {
			t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
		}
	}
	vm := vmOf("vm-1", "worker-1", uuidA, "")
	c.SetVM(vm)
	reported("worker-1 vm=worker-1 power=on registered=false")
	vm.Hostname = "Worker-1.example"
	c.SetVM(vm)
	reported("worker-1 vm=worker-1 power=on registered=false deleted", "worker-1.example vm=worker-1 power=on registered=false")
	node := api.Node{Name: "worker-1.example", Registered: true}
	c.SetNode(node, facts(node, uuidA))
	reported("worker-1.example vm=worker-1 power=on registered=true")
	c.SetNode(node, facts(node, uuidA)) // a heartbeat
	reported()
	vm.Power = "off"
	c.SetVM(vm)
	reported("worker-1.example vm=worker-1 power=off registered=true")
	vm.UUID = "" // blank for a while: the hostname decides
	c.SetVM(vm)
	reported()
	node.ProviderID = "vsphere://" + uuidB
	c.SetNode(node, facts(node, uuidA))
	reported("worker-1.example vm= power= registered=true")
	vm.UUID = strings.ToUpper(uuidB)
	c.SetVM(vm)
	reported("worker-1.example vm=worker-1 power=off registered=true")
	c.DeleteNode("worker-1.example")
	reported("worker-1.example vm=worker-1 power=off registered=false")
	vm.Exists = false
	c.SetVM(vm)
	reported("worker-1.example vm=worker-1 power=off registered=false deleted")
	c.SetNode(api.Node{Name: "stranger", Registered: true}, match.Node{Name: "stranger"})
	reported("stranger vm= power= registered=true")
	c.DeleteNode("stranger")
	reported("stranger vm= power= registered=true deleted")
}

// A reader that falls too far behind is cut off; others are not.
func TestSlowWatcher(t *testing.T) {
	var c Cache
	_, slow := c.Read()
	_, other := c.Read()
	for i := range MaxBehind + 1 {
		c.SetComponent(api.Component{Name: "ccm", PID: i})
		if i%1000 == 0 {
			other.Take()
		}
	}
	if changes, ok := slow.Take(); ok || len(changes.Lines) > 0 {
		t.Errorf("%d lines, %v", len(changes.Lines), ok)
	}
	if changes, ok := other.Take(); !ok || len(changes.Lines) == 0 {
		t.Errorf("%d lines, %v", len(changes.Lines), ok)
	}
	slow.Close()
	other.Close()
	if len(c.readers) != 0 {
		t.Error("a reader is left")
	}
}

// It does not take many rows, if they are large.
func TestSlowWatcherOfLargeRows(t *testing.T) {
	var c Cache
	_, slow := c.Read()
	large := strings.Repeat("x", 1<<20)
	for i := range MaxBytesBehind>>20 + 1 {
		if slow.slow {
			t.Fatalf("after %d rows", i)
		}
		c.SetComponent(api.Component{Name: "ccm", PID: i, Message: large})
	}
	if changes, ok := slow.Take(); ok || len(changes.Lines) > 0 {
		t.Errorf("%d lines, %v", len(changes.Lines), ok)
	}
}

// Leases that were healed long ago are not kept for ever; what is broken is.
func TestForgottenLeases(t *testing.T) {
	var c Cache
	c.SetLease(api.Lease{ID: "f0", State: "active"})
	_, reader := c.Read()
	for i := range maxHealed + 2 {
		id := fmt.Sprintf("f%d", i+1)
		c.SetLease(api.Lease{ID: id, State: "active"})
		c.SetLease(api.Lease{ID: id, State: "healed"})
	}
	changes, _ := reader.Take()
	var gone []string
	for _, line := range changes.Lines {
		var u api.Update
		if err := json.Unmarshal(line, &u); err != nil {
			t.Fatal(err)
		}
		if u.Deleted {
			gone = append(gone, u.Lease.ID+" "+u.Lease.State)
		}
	}
	if d := cmp.Diff([]string{"f1 healed", "f2 healed"}, gone); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(c.table) != maxHealed+1 || c.table["lease/f0"] == nil || len(c.leases) != len(c.table) {
		t.Errorf("%d rows, %d leases", len(c.table), len(c.leases))
	}
}

// A count is sent when it has changed.
func TestCallsThatHaveNotChanged(t *testing.T) {
	var c Cache
	_, reader := c.Read()
	sent := func() int {
		changes, _ := reader.Take()
		return len(changes.Lines)
	}
	a, b := api.Calls{VCenter: "us", Method: "A", Client: "x/y", Calls: 1}, api.Calls{VCenter: "us", Method: "y/A", Client: "x", Calls: 1}
	c.SetCalls([]api.Calls{a, b})
	if n := sent(); n != 2 {
		t.Errorf("sent %d, want 2", n)
	}
	c.SetCalls([]api.Calls{a, b})
	if n := sent(); n != 0 {
		t.Errorf("sent %d that have not changed", n)
	}
	b.Calls, b.LastError, b.Errors, b.Hits, b.Latency, b.Last = 3, "NotAuthenticated", 2, 1, api.Duration(time.Second), time.Now()
	c.SetCalls([]api.Calls{b})
	if d := cmp.Diff(b, *c.table["calls/us\x00x\x00y/A"].update.Calls); d != "" || sent() != 1 {
		t.Errorf("(-want +sent):\n%s", d)
	}
}

// nodeText is a line about a node in short; nothing for other lines.
func nodeText(t *testing.T, line []byte) []string {
	t.Helper()
	var u api.Update
	if err := json.Unmarshal(line, &u); err != nil {
		t.Fatal(err)
	}
	if u.Node == nil {
		return nil
	}
	text := fmt.Sprintf("%s vm=%s power=%s registered=%v", u.Node.Name, u.Node.VM, u.Node.Power, u.Node.Registered)
	if u.Deleted {
		text += " deleted"
	}
	return []string{text}
}

// vmOf returns a worker that runs.
func vmOf(moref, name, uuid, hostname string) world.VM {
	return world.VM{Exists: true, Ref: types.ManagedObjectReference{Type: "VirtualMachine", Value: moref}, VM: api.VM{
		Name: name, VCenter: "vc", UUID: uuid, Hostname: hostname, Power: "on", Role: "worker", MoRef: moref,
	}}
}

// Rows of the Supervisor are set as a whole: what is missing is gone, what is the same is not sent again, and no object is sent.
func TestSupervisorRows(t *testing.T) {
	var c Cache
	_, r := c.Read()
	defer r.Close()
	sent := func() (all []string) {
		changes, _ := r.Take()
		for _, l := range changes.Lines {
			var u api.Update
			if err := json.Unmarshal(l, &u); err != nil {
				t.Fatal(err)
			}
			switch {
			case u.VirtualMachine != nil:
				all = append(all, fmt.Sprintf("%s %s %t %v", u.VirtualMachine.Name, u.VirtualMachine.Power, u.Deleted, u.VirtualMachine.Object))
			case u.VirtualMachineService != nil:
				all = append(all, fmt.Sprintf("%s %v %t", u.VirtualMachineService.Name, u.VirtualMachineService.Ingress, u.Deleted))
			}
		}
		return all
	}
	on := func(name, power string) api.VirtualMachine {
		return api.VirtualMachine{Namespace: "guests", Name: name, Power: power, Object: map[string]any{"kind": "VirtualMachine"}}
	}
	for _, step := range []struct {
		what string
		do   func()
		want []string
	}{
		{"two", func() { c.SetVirtualMachines([]api.VirtualMachine{on("b", "PoweredOn"), on("a", "PoweredOn")}) }, []string{"a PoweredOn false map[]", "b PoweredOn false map[]"}},
		{"the same", func() { c.SetVirtualMachines([]api.VirtualMachine{on("a", "PoweredOn"), on("b", "PoweredOn")}) }, nil},
		{"a service", func() {
			c.SetVirtualMachineServices([]api.VirtualMachineService{{Namespace: "guests", Name: "web", Ingress: []string{"1.2.3.4"}}})
		}, []string{"web [1.2.3.4] false"}},
		{"one off, one gone", func() { c.SetVirtualMachines([]api.VirtualMachine{on("b", "PoweredOff")}) }, []string{"a PoweredOn true map[]", "b PoweredOff false map[]"}},
		{"after a restore", c.Reset, []string{"b PoweredOff true map[]", "web [1.2.3.4] true"}},
	} {
		step.do()
		got := sent()
		slices.Sort(got)
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s: %s", step.what, diff)
		}
	}
}
