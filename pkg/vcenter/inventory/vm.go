package inventory

import (
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// VM is a virtual machine as it was when it was read. Names are as the vCenter has them, which writes %2f for a slash.
type VM struct {
	// VCenter is the name of its vCenter, Ref its identity there.
	VCenter string
	Ref     types.ManagedObjectReference
	// Path is its inventory path, Folder that of its folder below the datacenter's VM folder, empty for that one.
	Name, Path, Folder string
	// UUID is the BIOS UUID, in lower case, as InstanceUUID.
	UUID, InstanceUUID string
	// Hostname, Addresses and Tools are what the guest reports: its DNS name, its IP addresses without those of links and
	// loopback, and whether its tools run ("guestToolsRunning").
	Hostname  string
	Addresses []string
	Tools     string
	// Power is "poweredOn", "poweredOff" or "suspended".
	Power string
	// Connection is "connected" unless its host is not there.
	Connection string
	Template   bool
	// Datacenter, Cluster and Host are names; Cluster is empty for a VM on a standalone host. Pool is a path below the root
	// pool of the compute resource, empty for that one.
	Datacenter, Cluster, Host, Pool string
	// Region and Zone are names of the tags nearest to it; both are empty where one of them is not found.
	Region, Zone string
	// Tags are those on the VM itself.
	Tags []Tag
	// HardwareVersion is such as "vmx-21".
	HardwareVersion string
	// DiskUUID says that the guest sees the UUIDs of its disks (disk.enableUUID).
	DiskUUID bool

	// HostRef and PoolRef are its host and pool; zero where it has none.
	HostRef, PoolRef types.ManagedObjectReference
}

// Facts implements [match.Candidate].
func (vm VM) Facts() match.VM {
	facts := match.VM{
		VCenter: vm.VCenter, Ref: vm.Ref.Value, HostName: vm.Hostname, Template: vm.Template,
		Connected: vm.Connection == string(types.VirtualMachineConnectionStateConnected),
		On:        vm.Power == string(types.VirtualMachinePowerStatePoweredOn),
	}
	facts.UUID, _ = match.ParseUUID(vm.UUID)
	facts.Addresses = match.ParseAddresses(vm.Addresses)
	return facts
}

// String names the VM in messages.
func (vm VM) String() string { return vm.VCenter + ":" + vm.Path }

// vmProperties are what a VM is read for.
func vmProperties() []string {
	return []string{
		"name", "parent", "parentVApp", "resourcePool", "runtime.host", "runtime.powerState", "runtime.connectionState",
		"config.uuid", "config.instanceUuid", "config.template", "config.version", "config.flags.diskUuidEnabled",
		"guest.hostName", "guest.ipAddress", "guest.net", "guest.toolsRunningStatus",
	}
}

// newVM takes in what was read. A VM whose configuration cannot be read, its host being gone, has no identities.
func newVM(vcenter string, m *mo.VirtualMachine) VM {
	vm := VM{
		VCenter: vcenter, Ref: m.Self, Name: m.Name,
		Power: string(m.Runtime.PowerState), Connection: string(m.Runtime.ConnectionState),
	}
	if m.Config != nil {
		vm.UUID, vm.InstanceUUID = strings.ToLower(m.Config.Uuid), strings.ToLower(m.Config.InstanceUuid)
		vm.Template, vm.HardwareVersion = m.Config.Template, m.Config.Version
		vm.DiskUUID = m.Config.Flags.DiskUuidEnabled != nil && *m.Config.Flags.DiskUuidEnabled
	}
	if m.Guest != nil {
		vm.Hostname, vm.Tools = m.Guest.HostName, m.Guest.ToolsRunningStatus
		vm.Addresses = addresses(m.Guest)
	}
	if m.Runtime.Host != nil {
		vm.HostRef = *m.Runtime.Host
	}
	if m.ResourcePool != nil {
		vm.PoolRef = *m.ResourcePool
	}
	return vm
}
