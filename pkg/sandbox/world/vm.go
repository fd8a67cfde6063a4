package world

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/absent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// InTreeFolder is where the in-tree provider kept the disks of its volumes, in every datastore.
const InTreeFolder = "kubevols/"

// VM is a virtual machine in both forms that the sandbox needs: for people and for the node that it may be.
type VM struct {
	api.VM
	Exists   bool
	BootTime time.Time
	Ref      types.ManagedObjectReference
	// InstanceUUID identifies the VM in its vCenter.
	InstanceUUID string
	// HidesUUIDs is set if the guest cannot identify its disks.
	HidesUUIDs bool
	// MAC is the address of its first network adapter, as the guest reports it.
	MAC string
}

// VMKey identifies a VM: a moref is unique within its vCenter only.
type VMKey struct {
	VCenter string
	Ref     types.ManagedObjectReference
}

// Key returns what identifies the VM.
func (v VM) Key() VMKey { return VMKey{v.VCenter, v.Ref} }

// Facts implements [match.Candidate].
func (v VM) Facts() match.VM {
	u, _ := match.ParseUUID(v.UUID)
	return match.VM{
		VCenter: v.VCenter, Ref: v.Ref.Value, UUID: u, HostName: v.Hostname, Addresses: match.ParseAddresses(v.Addresses),
		Connected: v.Connection == string(types.VirtualMachineConnectionStateConnected), On: v.Power == string(node.On),
	}
}

// String returns the VM for messages.
func (v VM) String() string { return v.VCenter + v.Path }

// NodeVM returns the state of the VM for its kubelet.
func (v VM) NodeVM() node.VM {
	var disks []node.Disk
	for _, d := range v.Disks {
		switch {
		case d.Volume != "":
			disks = append(disks, node.Disk{UUID: d.UUID, VolumeID: d.Volume, Bytes: d.Bytes})
		case strings.Contains(d.File, "] "+InTreeFolder): // it goes by its file until CNS makes it a volume
			disks = append(disks, node.Disk{UUID: d.UUID, VolumeID: d.File, Bytes: d.Bytes})
		}
	}
	return node.VM{
		Disks:       disks,
		HidesUUIDs:  v.HidesUUIDs,
		Exists:      v.Exists,
		Power:       node.Power(v.Power),
		BootTime:    v.BootTime,
		GuestUp:     v.Tools && v.Hostname != "",
		Hostname:    v.Hostname,
		UUID:        v.UUID,
		CPUs:        v.CPUs,
		MemoryBytes: uint64(v.MemoryBytes),
		GuestID:     v.GuestID,
	}
}

// vm reads one VM. The caller holds the lock.
func (i *Inventory) vm(r ref) VM {
	host := property[ref](i, r, "runtime.host")
	v := VM{
		Exists:   true,
		Ref:      r,
		BootTime: property[time.Time](i, r, "runtime.bootTime"),

		InstanceUUID: property[string](i, r, "config.instanceUuid"),

		HidesUUIDs: property[bool](i, r, settings),
		VM: api.VM{
			Name:        property[string](i, r, "name"),
			VCenter:     i.VCenter,
			Datacenter:  i.above(r, "Datacenter"),
			Cluster:     i.above(host, "ClusterComputeResource"),
			Host:        property[string](i, host, "name"),
			Path:        i.path(r),
			MoRef:       r.Value,
			UUID:        property[string](i, r, "config.uuid"),
			Connection:  string(property[types.VirtualMachineConnectionState](i, r, "runtime.connectionState")),
			Tools:       property[string](i, r, "guest.toolsRunningStatus") == string(types.VirtualMachineToolsRunningStatusGuestToolsRunning),
			Hostname:    property[string](i, r, "guest.hostName"),
			CPUs:        int(property[int32](i, r, "config.hardware.numCPU")),
			MemoryBytes: int64(property[int32](i, r, "config.hardware.memoryMB")) << 20,
			GuestID:     property[string](i, r, "config.guestId"),
			Disks:       property[[]api.Disk](i, r, devices),
		},
	}
	switch property[types.VirtualMachinePowerState](i, r, "runtime.powerState") {
	case types.VirtualMachinePowerStatePoweredOn:
		v.Power = string(node.On)
	case types.VirtualMachinePowerStatePoweredOff:
		v.Power = string(node.Off)
	case types.VirtualMachinePowerStateSuspended:
		v.Power = string(node.Suspended)
	}
	for _, nic := range property[types.ArrayOfGuestNicInfo](i, r, "guest.net").GuestNicInfo {
		v.MAC = cmp.Or(v.MAC, nic.MacAddress)
		for _, ip := range nic.IpAddress {
			if a, err := netip.ParseAddr(ip); err == nil && !a.IsLinkLocalUnicast() {
				v.Addresses = append(v.Addresses, ip)
			}
		}
	}
	// A VM is in the region and zone of the host that it runs on; those of the VM's own folders are what is left when the
	// host has not both. As in the cloud provider, one of these and one of those make no pair.
	v.Region, v.Zone = i.place(host)
	if region, zone := i.place(r); (v.Region == "" || v.Zone == "") && (region != "" && zone != "" || v.Region+v.Zone == "") {
		v.Region, v.Zone = region, zone
	}
	return v
}

// VMs lists them by path.
func (i *Inventory) VMs() []VM {
	i.mu.RLock()
	defer i.mu.RUnlock()
	var vms []VM
	for _, r := range i.refs(ofType("VirtualMachine")) {
		vms = append(vms, i.vm(r))
	}
	return vms
}

// Hosts lists them by path.
func (i *Inventory) Hosts() []api.Host {
	i.mu.RLock()
	defer i.mu.RUnlock()
	vms := map[ref]int{}
	for r := range i.objects {
		if r.Type == "VirtualMachine" {
			vms[property[ref](i, r, "runtime.host")]++
		}
	}
	var hosts []api.Host
	for _, r := range i.refs(ofType("HostSystem")) {
		hosts = append(hosts, api.Host{
			Name:        property[string](i, r, "name"),
			VCenter:     i.VCenter,
			Datacenter:  i.above(r, "Datacenter"),
			Cluster:     i.above(r, "ClusterComputeResource"),
			Connection:  string(property[types.HostSystemConnectionState](i, r, "runtime.connectionState")),
			Power:       hostPower(property[types.HostSystemPowerState](i, r, "runtime.powerState")),
			CPUs:        int(property[int16](i, r, "summary.hardware.numCpuCores")),
			MemoryBytes: property[int64](i, r, "summary.hardware.memorySize"),
			VMs:         vms[r],
		})
	}
	return hosts
}

// hostPower says a host's power state in the words of a VM's.
func hostPower(p types.HostSystemPowerState) string {
	switch p {
	case types.HostSystemPowerStatePoweredOn:
		return "on"
	case types.HostSystemPowerStatePoweredOff:
		return "off"
	case types.HostSystemPowerStateStandBy:
		return "standby"
	}
	return string(p)
}

// Datacenters lists them by path, without the counts of nodes, which an inventory does not know.
func (i *Inventory) Datacenters() []api.Datacenter {
	i.mu.RLock()
	defer i.mu.RUnlock()
	var dcs []api.Datacenter
	for _, r := range i.refs(ofType("Datacenter")) {
		dc := api.Datacenter{
			Name: property[string](i, r, "name"), VCenter: i.VCenter, Path: i.path(r),
			Region: i.nearest(r, i.tags.Region), Zone: i.nearest(r, i.tags.Zone),
		}
		for o := range i.objects {
			if i.inside(o, r) {
				switch o.Type {
				case "HostSystem":
					dc.Hosts++
				case "VirtualMachine":
					dc.VMs++
				}
			}
		}
		dcs = append(dcs, dc)
	}
	return dcs
}

// Places lists them with their references; nil while the inventory is not known.
func (i *Inventory) Places() (places []absent.Place) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	for _, r := range i.refs(ofType("Datacenter")) {
		places = append(places, absent.Place{Ref: r.String(), Name: property[string](i, r, "name"), Path: i.path(r)})
	}
	return places
}

func (i *Inventory) inside(r, ancestor ref) bool {
	return slices.Contains(i.ancestors(r), ancestor)
}
