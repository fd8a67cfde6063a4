package provider

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// listIndex is a vmIndex of a few VMs without an index.
type listIndex struct {
	vms       []*inventory.VM
	doubt     error
	zone      inventory.Zone
	zoneErr   error
	confirm   error  // the result of ConfirmAbsent
	between   func() // called during ConfirmAbsent
	confirmed []match.UUID
	removed   error // the result of ConfirmRemoved
	hides     error // the result of Hidden
	asked     []inventory.Location
}

func (x *listIndex) where(f func(*inventory.VM) bool) inventory.Result {
	r := inventory.Result{Doubt: x.doubt}
	for _, vm := range x.vms {
		if f(vm) {
			r.VMs = append(r.VMs, vm)
		}
	}
	return r
}

func (x *listIndex) ByUUID(u match.UUID) inventory.Result {
	if r := x.where(func(vm *inventory.VM) bool { return vm.UUID == u }); len(r.VMs) > 0 {
		return r
	}
	return x.where(func(vm *inventory.VM) bool { return vm.UUID == u.Swapped() })
}

func (x *listIndex) ByHostName(name string) inventory.Result {
	exact := x.where(func(vm *inventory.VM) bool { return strings.EqualFold(vm.HostName, name) })
	if len(exact.VMs) > 0 {
		return exact
	}
	return x.where(func(vm *inventory.VM) bool {
		return strings.HasPrefix(strings.ToLower(vm.HostName), strings.ToLower(name)+".") ||
			strings.HasPrefix(strings.ToLower(name), strings.ToLower(vm.HostName)+".") && vm.HostName != ""
	})
}

func (x *listIndex) ByIP(ip netip.Addr) inventory.Result {
	return x.where(func(vm *inventory.VM) bool {
		return slices.ContainsFunc(vm.Adapters, func(a guest.Adapter) bool { return slices.Contains(a.Addresses, ip) })
	})
}

func (x *listIndex) Datacenter(vm *inventory.VM) string { return vm.Parent.Value }

func (x *listIndex) Zone(*inventory.VM) (inventory.Zone, error) { return x.zone, x.zoneErr }

func (x *listIndex) ConfirmAbsent(_ context.Context, u match.UUID) error {
	x.confirmed = append(x.confirmed, u)
	if x.between != nil {
		x.between()
	}
	switch {
	case u == (match.UUID{}):
		return errors.New("it is no uuid")
	case x.doubt != nil:
		return x.doubt
	}
	return x.confirm
}

func (x *listIndex) Hidden(match.Node, match.Behavior) error { return x.hides }

func (x *listIndex) Locate(vm *inventory.VM) (inventory.Location, error) {
	return inventory.Location{VCenter: "instance-" + vm.VCenter, VM: vm.Ref.Value}, nil
}

func (x *listIndex) ConfirmRemoved(_ context.Context, at inventory.Location, _ match.UUID) error {
	x.asked = append(x.asked, at)
	return x.removed
}

// over returns instances with x.
func (x *listIndex) over(parity Parity) instances {
	return instances{inv: x, choices: choicesOf(parity), cfg: &config.Config{
		VCenters: []config.VCenter{
			{Tenant: "a", IPFamilies: []config.IPFamily{config.IPv4}},
			{Tenant: "b", IPFamilies: []config.IPFamily{config.IPv4}},
		},
		Labels: config.Labels{Region: "k8s-region", Zone: "k8s-zone"},
	}}
}

// The UUIDs of VMs in tests: 1 and its swapped form are u1 and u1Swapped.
const (
	u1        = "01020304-0506-0708-8090-a0b0c0d0e0f0"
	u1Swapped = "04030201-0605-0807-8090-a0b0c0d0e0f0"
	u2        = "11121314-1516-1718-8090-a0b0c0d0e0f0"
	uUnknown  = "ffffffff-0000-0000-0000-000000000001"
)

// vmOf returns a running VM, in datacenter dc of vCenter a, with changes.
func vmOf(t testing.TB, name, uuid, host, ip string, changes ...func(*inventory.VM)) *inventory.VM {
	t.Helper()
	vm := &inventory.VM{
		VCenter: "a", Ref: types.ManagedObjectReference{Type: "VirtualMachine", Value: name}, Name: name,
		HostName: host, Power: types.VirtualMachinePowerStatePoweredOn, Connection: types.VirtualMachineConnectionStateConnected,
		Parent: types.ManagedObjectReference{Type: "Folder", Value: "dc"},
		NumCPU: 2, MemoryMB: 4096, GuestID: "ubuntu64Guest",
	}
	if uuid != "" {
		u, err := match.ParseUUID(uuid)
		if err != nil {
			t.Fatal(err)
		}
		vm.UUID = u
	}
	if ip != "" {
		vm.Adapters = []guest.Adapter{{Network: "n", Addresses: []netip.Addr{netip.MustParseAddr(ip)}}}
	}
	for _, change := range changes {
		change(vm)
	}
	return vm
}

func inDatacenter(dc string) func(*inventory.VM) {
	return func(vm *inventory.VM) { vm.Parent.Value = dc }
}
func inVCenter(vc string) func(*inventory.VM) { return func(vm *inventory.VM) { vm.VCenter = vc } }
func template(vm *inventory.VM)               { vm.Template = true }

func inState(s types.VirtualMachineConnectionState) func(*inventory.VM) {
	return func(vm *inventory.VM) { vm.Connection = s }
}

// off makes a VM off: its guest reports nothing.
func off(vm *inventory.VM) {
	vm.Power, vm.HostName, vm.Adapters = types.VirtualMachinePowerStatePoweredOff, "", nil
}

func offAndNamed(vm *inventory.VM) { vm.Power = types.VirtualMachinePowerStatePoweredOff }

// uninitialized returns node with the taint that it registers with.
func uninitialized(n *corev1.Node) *corev1.Node {
	n.Spec.Taints = []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule}}
	return n
}
