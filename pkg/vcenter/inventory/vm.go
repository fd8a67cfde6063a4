package inventory

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
)

// VM is a virtual machine at the time of the read. Names are in the vCenter's form, with %2f for a slash.
type VM struct {
	// VCenter is the name of its vCenter, Ref its reference there.
	VCenter string
	Ref     types.ManagedObjectReference
	// Path is its inventory path, Folder that of its folder below the datacenter's VM folder, empty for that one.
	Name, Path, Folder string
	// UUID is the BIOS UUID; both UUIDs are in lower case.
	UUID, InstanceUUID string
	// Hostname, Addresses and Tools are from the guest: its DNS name, its IP addresses without link-local and loopback ones, and
	// whether its tools run ("guestToolsRunning").
	Hostname  string
	Addresses []string
	Tools     string
	// Power is "poweredOn", "poweredOff" or "suspended".
	Power string
	// Connection is "connected" unless its host is unreachable.
	Connection string
	Template   bool
	// Datacenter, Cluster and Host are names; Cluster is empty for a VM on a standalone host. Pool is a path below the root pool
	// of the compute resource, empty for that one.
	Datacenter, Cluster, Host, Pool string
	// Region and Zone are the names of its nearest tags; both are empty if one is missing.
	Region, Zone string
	// Tags are the VM's tags.
	Tags []Tag
	// HardwareVersion is, for example, "vmx-21".
	HardwareVersion string
	// DiskUUID is set if the guest sees the UUIDs of its disks (disk.enableUUID).
	DiskUUID bool

	// HostRef and PoolRef are its host and pool, or zero.
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

// String returns the name of the VM in messages.
func (vm VM) String() string { return vm.VCenter + ":" + vm.Path }

// vmProperties lists the properties that are read of a VM.
func vmProperties() []string {
	return []string{
		"name", "parent", "parentVApp", "resourcePool", "runtime.host", "runtime.powerState", "runtime.connectionState",
		"config.uuid", "config.instanceUuid", "config.template", "config.version", "config.flags.diskUuidEnabled",
		"guest.hostName", "guest.ipAddress", "guest.net", "guest.toolsRunningStatus",
	}
}

// newVM converts what was read. A VM on an unreachable host has no configuration, and so no identities.
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

// addresses returns the guest's IP addresses in the order of its NICs, the primary one first.
func addresses(g *types.GuestInfo) []string {
	var all []string
	add := func(text string) {
		ip, err := netip.ParseAddr(text)
		if err != nil || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || slices.Contains(all, ip.String()) {
			return
		}
		all = append(all, ip.String())
	}
	add(g.IpAddress)
	for _, nic := range g.Net {
		if nic.IpConfig != nil {
			for _, ip := range nic.IpConfig.IpAddress {
				add(ip.IpAddress)
			}
			continue
		}
		for _, ip := range nic.IpAddress {
			add(ip)
		}
	}
	return all
}

// place sets the region and zone of every selected VM as the cloud provider does: by the nearest tags, starting at the VM's host;
// if that does not find both, at its resource pool, and then at the VM.
func (inv *Inventory) place(c Categories) {
	for i := range inv.VMs {
		vm := &inv.VMs[i]
		for _, start := range []types.ManagedObjectReference{vm.HostRef, vm.PoolRef, vm.Ref} {
			region, zone := inv.nearest(start, c)
			if region != "" && zone != "" {
				vm.Region, vm.Zone = region, zone
				break
			}
		}
	}
}

// nearest searches upward from start. Of several tags of a category on one object, the first by name counts.
func (inv *Inventory) nearest(start types.ManagedObjectReference, c Categories) (region, zone string) {
	for _, o := range inv.Tree.Up(start) {
		for _, tag := range o.Tags {
			if tag.Category == c.Region && region == "" {
				region = tag.Name
			}
			if tag.Category == c.Zone && zone == "" {
				zone = tag.Name
			}
		}
	}
	return region, zone
}

// ReadVM reads one VM with its place and, with withTags, its tags, before a write. It leaves out region and zone. A removed VM,
// or one that the account may not see, is an error.
func ReadVM(ctx context.Context, c *vcenter.Connection, ref types.ManagedObjectReference, withTags bool) (VM, error) {
	inv := &Inventory{Tree: Tree{}}
	content, err := Retrieve(ctx, c, types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: ref}},
		PropSet:   []types.PropertySpec{{Type: "VirtualMachine", PathSet: vmProperties()}},
	})
	if err == nil {
		err = inv.take(c.VCenter.Name, content)
	}
	if err != nil {
		return VM{}, fmt.Errorf("read VM %s: %w", ref.Value, err)
	}
	if len(inv.VMs) != 1 {
		return VM{}, fmt.Errorf("read VM %s: vcenter %q: not found, or this account may not see it", ref.Value, c.VCenter.Name)
	}
	for _, one := range []types.ManagedObjectReference{inv.Tree[ref].Parent, inv.VMs[0].HostRef, inv.VMs[0].PoolRef} {
		if err := inv.climb(ctx, c, one); err != nil {
			return VM{}, fmt.Errorf("read what VM %s is in: %w", ref.Value, err)
		}
	}
	vm := inv.VMs[0]
	inv.locate(&vm)
	if withTags {
		if vm.Tags, err = tagsOf(ctx, c, ref); err != nil {
			return VM{}, fmt.Errorf("read tags of VM %s: %w", ref.Value, err)
		}
	}
	return vm, nil
}

// climb reads an object and its ancestors, one call each.
func (inv *Inventory) climb(ctx context.Context, c *vcenter.Connection, ref types.ManagedObjectReference) error {
	for range deepest {
		if ref.Value == "" || inv.Tree[ref] != nil {
			return nil
		}
		content, err := Retrieve(ctx, c, types.PropertyFilterSpec{
			ObjectSet: []types.ObjectSpec{{Obj: ref}},
			PropSet:   []types.PropertySpec{{Type: ref.Type, PathSet: []string{"name", "parent"}}},

			ReportMissingObjectsInResults: new(true),
		})
		if err == nil {
			err = inv.take(c.VCenter.Name, content)
		}
		if err != nil {
			return err
		}
		if inv.Tree[ref] == nil {
			return nil // invisible to this account: paths begin below it
		}
		ref = inv.Tree[ref].Parent
	}
	return nil
}

// tagsOf reads the tags of an object.
func tagsOf(ctx context.Context, c *vcenter.Connection, ref types.ManagedObjectReference) ([]Tag, error) {
	var (
		ids []string
		all []Tag
	)
	err := c.DoREST(ctx, func(ctx context.Context, rc *rest.Client) (err error) {
		ids, err = tags.NewManager(rc).ListAttachedTags(ctx, ref)
		return err
	})
	names, categories := map[string]Tag{}, map[string]string{}
	for _, id := range ids {
		if err != nil {
			break
		}
		var tag Tag
		tag, err = learn(ctx, c, id, names, categories)
		all = append(all, tag)
	}
	return all, err
}
