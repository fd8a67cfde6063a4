package inventory

import (
	"net/netip"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// VM is an immutable snapshot of one virtual machine.
type VM struct {
	// VCenter is the name of its vCenter, and Ref its reference there.
	VCenter string
	Ref     types.ManagedObjectReference

	Name         string // inventory name
	UUID         UUID   // BIOS UUID; zero while the vCenter has reported none
	InstanceUUID string
	GuestID      string
	NumCPU       int32
	MemoryMB     int32
	Template     bool

	HostName string          // as the guest reports it; empty while the guest does not run
	Adapters []guest.Adapter // as the guest reports them; empty while the guest does not run
	// Static are the addresses in the VM's guestinfo.metadata, as [guest.StaticAddresses] reads them, and StaticErr is why
	// they cannot be read.
	Static    []netip.Addr
	StaticErr error

	Power      types.VirtualMachinePowerState
	Connection types.VirtualMachineConnectionState

	Host, ResourcePool, Parent types.ManagedObjectReference // zero when unknown

	folded   string         // HostName in the form in which names are compared
	encoding string         // guestinfo.metadata.encoding; the metadata itself is not kept
	dc       *datacenterRef // the datacenter it lies in, nil when unknown or not in sync
}

// String names the VM in messages.
func (vm *VM) String() string {
	return vm.Name + " (" + vm.Ref.Value + " in vcenter " + vm.VCenter + ")"
}

// Facts implements [match.Candidate]. It leaves out the addresses, of which the index has its own map.
func (vm *VM) Facts() match.VM {
	return match.VM{
		VCenter: vm.VCenter, Ref: vm.Ref.Value, UUID: vm.UUID, HostName: vm.HostName, Template: vm.Template,
		Connected: vm.Connection == types.VirtualMachineConnectionStateConnected,
		On:        vm.Power == types.VirtualMachinePowerStatePoweredOn,
	}
}

// firstLabel returns the first label of a hostname that has several.
func firstLabel(host string) (label string, ok bool) {
	label, _, ok = strings.Cut(host, ".")
	return label, ok
}

// eachIP calls f for the usable guest addresses of the VM's own adapters. Adapters that are not its hardware
// (DeviceConfigId -1: what a CNI makes inside the guest) may repeat the same address on every node.
func (vm *VM) eachIP(f func(netip.Addr)) {
	for _, a := range vm.Adapters {
		if a.Virtual {
			continue
		}
		for _, ip := range a.Addresses {
			if guest.Usable(ip) {
				f(ip.WithZone(""))
			}
		}
	}
}
