package inventory

import (
	"net/netip"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/guest"
)

// VM is what the index knows of one virtual machine at one moment. It is never changed after it has been handed out.
type VM struct {
	// VCenter is the name of the vCenter that holds it, and Ref its reference there.
	VCenter string
	Ref     types.ManagedObjectReference

	Name         string // inventory name
	UUID         UUID   // BIOS UUID; zero when the vCenter has told none yet
	InstanceUUID string
	GuestID      string
	NumCPU       int32
	MemoryMB     int32
	Template     bool

	HostName string          // as the guest reports it, empty while it does not run
	Adapters []guest.Adapter // as the guest reports them, empty while it does not run
	// Static are the addresses that the VM's guestinfo.metadata configures, in a stable order, and StaticErr is why they
	// cannot be read.
	Static    []netip.Addr
	StaticErr error

	Power      types.VirtualMachinePowerState
	Connection types.VirtualMachineConnectionState

	Host, ResourcePool, Parent types.ManagedObjectReference // zero when unknown

	uuidHidden bool // the vCenter would not tell the UUID when last asked
}

// String names the VM in messages.
func (vm *VM) String() string {
	return vm.Name + " (" + vm.Ref.Value + " in vcenter " + vm.VCenter + ")"
}

// vmProperties are the paths watched of every VM; apply reads each of them.
var vmProperties = [...]string{
	"name", "parent", "resourcePool", "guest.hostName", "guest.net",
	"summary.config.uuid", "summary.config.instanceUuid", "summary.config.guestId", "summary.config.numCpu",
	"summary.config.memorySizeMB", "summary.config.template",
	"runtime.powerState", "runtime.connectionState", "runtime.host",
}

// apply sets what the changes say. A change of an unexpected type is as good as none.
func (vm *VM) apply(changes []types.PropertyChange) {
	for _, c := range changes {
		switch c.Name {
		case "name":
			vm.Name, _ = c.Val.(string)
		case "parent":
			vm.Parent, _ = c.Val.(types.ManagedObjectReference)
		case "resourcePool":
			vm.ResourcePool, _ = c.Val.(types.ManagedObjectReference)
		case "guest.hostName":
			vm.HostName, _ = c.Val.(string)
		case "guest.net":
			vm.Adapters = nil
			switch nics := c.Val.(type) {
			case types.ArrayOfGuestNicInfo:
				vm.Adapters = guest.Adapters(nics.GuestNicInfo)
			case []types.GuestNicInfo:
				vm.Adapters = guest.Adapters(nics)
			}
		case "summary.config.uuid":
			// A VM keeps its UUID for life; a vCenter may tell a blank one for seconds during a failover
			// (kubernetes/cloud-provider-vsphere#521).
			s, _ := c.Val.(string)
			if u, err := ParseUUID(s); err == nil {
				vm.UUID, vm.uuidHidden = u, false
			}
		case "summary.config.instanceUuid":
			vm.InstanceUUID, _ = c.Val.(string)
		case "summary.config.guestId":
			vm.GuestID, _ = c.Val.(string)
		case "summary.config.numCpu":
			vm.NumCPU, _ = c.Val.(int32)
		case "summary.config.memorySizeMB":
			vm.MemoryMB, _ = c.Val.(int32)
		case "summary.config.template":
			vm.Template, _ = c.Val.(bool)
		case "runtime.powerState":
			vm.Power, _ = c.Val.(types.VirtualMachinePowerState)
		case "runtime.connectionState":
			vm.Connection, _ = c.Val.(types.VirtualMachineConnectionState)
		case "runtime.host":
			vm.Host, _ = c.Val.(types.ManagedObjectReference)
		}
	}
}

// hostNames returns the keys under which the VM is found by hostname: the folded name, and its first label.
func (vm *VM) hostNames() []string {
	full := foldHost(vm.HostName)
	if full == "" {
		return nil
	}
	if short, _, ok := strings.Cut(full, "."); ok && short != "" {
		return []string{full, short}
	}
	return []string{full}
}

// ips returns the usable guest addresses of the VM's own adapters. Adapters that are not its hardware (DeviceConfigId
// -1: what a CNI makes inside the guest) may repeat the same address on every node.
func (vm *VM) ips() []netip.Addr {
	var ips []netip.Addr
	for _, a := range vm.Adapters {
		if a.Virtual {
			continue
		}
		for _, ip := range a.Addresses {
			if guest.Usable(ip) {
				ips = append(ips, ip.WithZone(""))
			}
		}
	}
	return ips
}

// foldHost brings a DNS name into the form in which names are compared.
func foldHost(s string) string {
	return strings.ToLower(strings.TrimSuffix(strings.TrimSpace(s), "."))
}
