package corrections

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// clones gives the NICs of a clone their own MAC addresses, as a vCenter does; vcsim copies those of the source. A NIC whose address
// the client's specification sets keeps it.
type clones struct {
	ref vc.Ref

	mu      sync.Mutex
	fresh   map[vc.Ref]bool                      // VMs that have no NIC yet
	unnamed map[vc.Ref]*simulator.VirtualMachine // VMs whose task has not ended
	used    map[string]bool                      // addresses
}

func newClones(base *simulator.Context) *clones {
	c := &clones{
		ref:   vc.Ref{Type: "SandboxClones", Value: "sandbox-clones"},
		fresh: make(map[vc.Ref]bool), unnamed: make(map[vc.Ref]*simulator.VirtualMachine), used: make(map[string]bool),
	}
	for _, obj := range base.Map.All("VirtualMachine") {
		if vm, ok := obj.(*simulator.VirtualMachine); ok {
			vc.Fresh(base).WithLock(vm, func() {
				for mac := range addresses(&vm.VirtualMachine) {
					c.used[mac] = true
				}
			})
		}
	}
	return c
}

// Reference implements simulator.RegisterObject.
func (c *clones) Reference() vc.Ref { return c.ref }

// PutObject implements simulator.RegisterObject.
func (c *clones) PutObject(_ *simulator.Context, obj mo.Reference) {
	if vm, ok := obj.(*simulator.VirtualMachine); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.fresh[vm.Self], c.unnamed[vm.Self] = true, vm
	}
}

// UpdateObject implements simulator.RegisterObject: vcsim has created the devices of a VM. It is a clone if the call is one on
// another VM, whose lock the task holds. The clone is not shared yet.
func (c *clones) UpdateObject(ctx *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	if _, ok := obj.(*mo.Task); ok {
		c.name(ctx, changes)
		return
	}
	vm, ok := obj.(*mo.VirtualMachine)
	if !ok || !slices.ContainsFunc(changes, func(change types.PropertyChange) bool { return change.Name == "config.hardware.device" }) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.fresh[vm.Self] {
		return
	}
	var copied map[string]bool
	if ctx.Caller != nil && *ctx.Caller != vm.Self {
		if source, ok := ctx.Map.Get(*ctx.Caller).(*simulator.VirtualMachine); ok {
			copied = addresses(&source.VirtualMachine)
		}
	}
	for _, d := range vm.Config.Hardware.Device {
		if nic, ok := d.(types.BaseVirtualEthernetCard); ok {
			delete(c.fresh, vm.Self) // later changes are the client's
			c.replace(vm, nic.GetVirtualEthernetCard(), copied)
		}
	}
}

// name corrects the name of a VM that a call on another VM made, before its task is seen to have ended.
func (c *clones) name(ctx *simulator.Context, changes []types.PropertyChange) {
	cloned := ctx.Caller != nil && ctx.Caller.Type == "VirtualMachine"
	for _, change := range changes {
		ref, ok := change.Val.(vc.Ref)
		if !ok || change.Name != "info.result" {
			continue
		}
		c.mu.Lock()
		vm := c.unnamed[ref]
		delete(c.unnamed, ref)
		c.mu.Unlock()
		if vm != nil && cloned {
			fresh := vc.Fresh(ctx)
			fresh.WithLock(vm, func() { collapse(fresh, vm) })
		}
	}
}

// replace gives a NIC another address if its own is copied. The caller holds the lock.
func (c *clones) replace(vm *mo.VirtualMachine, nic *types.VirtualEthernetCard, copied map[string]bool) {
	old := strings.ToLower(nic.MacAddress)
	if !copied[old] {
		return
	}
	nic.MacAddress = c.address(vm.Config.Uuid, nic.Key)
	nic.AddressType = string(types.VirtualEthernetCardMacTypeAssigned)
	for i := range vm.Guest.Net {
		if strings.EqualFold(vm.Guest.Net[i].MacAddress, old) {
			vm.Guest.Net[i].MacAddress = nic.MacAddress
		}
	}
}

// RemoveObject implements simulator.RegisterObject.
func (c *clones) RemoveObject(_ *simulator.Context, ref vc.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.fresh, ref)
	delete(c.unnamed, ref)
}

// address derives an address from a VM's UUID, in the range that a vCenter assigns: 00:50:56:80:00:00 to 00:50:56:bf:ff:ff. The caller
// holds the lock.
func (c *clones) address(uuid string, key int32) string {
	for n := 0; ; n++ {
		digest := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", uuid, key, n))
		tail := 0x80<<16 | binary.BigEndian.Uint32(digest[:4])%(0x40<<16)
		mac := fmt.Sprintf("00:50:56:%02x:%02x:%02x", byte(tail>>16), byte(tail>>8), byte(tail))
		if !c.used[mac] {
			c.used[mac] = true
			return mac
		}
	}
}

// addresses returns the MAC addresses of a VM.
func addresses(vm *mo.VirtualMachine) map[string]bool {
	all := make(map[string]bool)
	if vm.Config == nil {
		return all
	}
	for _, d := range vm.Config.Hardware.Device {
		if nic, ok := d.(types.BaseVirtualEthernetCard); ok {
			all[strings.ToLower(nic.GetVirtualEthernetCard().MacAddress)] = true
		}
	}
	return all
}
