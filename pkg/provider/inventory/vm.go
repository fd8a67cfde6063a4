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

// The keys of cloud-init's metadata in a VM's advanced configuration.
const (
	metadataPath = `config.extraConfig["guestinfo.metadata"]`
	encodingPath = `config.extraConfig["guestinfo.metadata.encoding"]`
)

// vmProperties are the watched properties of every VM; apply reads each of them.
var vmProperties = [...]string{
	"name", "parent", "resourcePool", "guest.hostName", "guest.net",
	"summary.config.uuid", "summary.config.instanceUuid", "summary.config.guestId", "summary.config.numCpu",
	"summary.config.memorySizeMB", "summary.config.template",
	"runtime.powerState", "runtime.connectionState", "runtime.host", metadataPath, encodingPath,
}

// apply sets the changed properties. It ignores values of an unexpected type.
func (vm *VM) apply(changes []types.PropertyChange, one *interner, static staticFunc) {
	var metadata *string
	for _, c := range changes {
		switch c.Name {
		case "name":
			vm.Name, _ = c.Val.(string)
		case "parent":
			vm.Parent = reference(c.Val, one)
		case "resourcePool":
			vm.ResourcePool = reference(c.Val, one)
		case "guest.hostName":
			vm.HostName, _ = c.Val.(string)
			vm.folded = match.FoldHostName(vm.HostName)
		case "guest.net":
			vm.Adapters = adapters(c.Val, one)
		case "summary.config.uuid":
			// A VM keeps its UUID for life; during a failover a vCenter may report a blank one for seconds
			// (kubernetes/cloud-provider-vsphere#521).
			s, _ := c.Val.(string)
			if u, err := match.ParseUUID(s); err == nil {
				vm.UUID = u
			}
		case "summary.config.instanceUuid":
			vm.InstanceUUID, _ = c.Val.(string)
		case "summary.config.guestId":
			vm.GuestID, _ = c.Val.(string)
			vm.GuestID = one.text(vm.GuestID)
		case "summary.config.numCpu":
			vm.NumCPU, _ = c.Val.(int32)
		case "summary.config.memorySizeMB":
			vm.MemoryMB, _ = c.Val.(int32)
		case "summary.config.template":
			vm.Template, _ = c.Val.(bool)
		case "runtime.powerState":
			state, _ := c.Val.(types.VirtualMachinePowerState)
			vm.Power = types.VirtualMachinePowerState(one.text(string(state)))
		case "runtime.connectionState":
			state, _ := c.Val.(types.VirtualMachineConnectionState)
			vm.Connection = types.VirtualMachineConnectionState(one.text(string(state)))
		case "runtime.host":
			vm.Host = reference(c.Val, one)
		case metadataPath:
			text := option(c.Val)
			metadata = &text
		case encodingPath:
			vm.encoding = one.text(strings.TrimSpace(option(c.Val)))
		}
	}
	if metadata != nil {
		vm.Static, vm.StaticErr = static(*metadata, vm.encoding)
	}
}

// staticFunc reads the addresses in a VM's guestinfo.metadata.
type staticFunc func(metadata, encoding string) ([]netip.Addr, error)

func reference(value types.AnyType, one *interner) types.ManagedObjectReference {
	ref, _ := value.(types.ManagedObjectReference)
	return one.ref(ref)
}

func adapters(value types.AnyType, one *interner) (all []guest.Adapter) {
	switch nics := value.(type) {
	case types.ArrayOfGuestNicInfo:
		all = guest.Adapters(nics.GuestNicInfo)
	case []types.GuestNicInfo:
		all = guest.Adapters(nics)
	}
	for i := range all {
		all[i].Network = one.text(all[i].Network)
	}
	return all
}

// option returns the text of a VM's option, or "".
func option(value types.AnyType) string {
	if o, ok := value.(types.BaseOptionValue); ok {
		value = o.GetOptionValue().Value
	}
	if o, ok := value.(types.OptionValue); ok {
		value = o.Value
	}
	s, _ := value.(string)
	return s
}
