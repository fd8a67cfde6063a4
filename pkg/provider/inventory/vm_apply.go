package inventory

import (
	"net/netip"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

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
