package record

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/glob"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// computes adds the compute resources of the selected VMs in a datacenter, with all their hosts.
func (r *recorder) computes(f *found, dc *topology.Datacenter, at *inventory.Object) {
	t := f.inv.Tree
	in := map[ref]bool{}
	for compute := range f.computes {
		if o := t.Above(compute, "Datacenter"); o != nil && o.Ref == at.Ref {
			in[compute] = true
		}
	}
	for _, o := range inOrder(f, in) {
		refs := map[ref]bool{}
		for _, host := range f.computes[o.Ref].Host {
			refs[host] = true
		}
		var hosts []topology.Host
		for _, host := range inOrder(f, refs) {
			hosts = append(hosts, r.host(f, host))
		}
		around := o.Parent
		if o.Ref.Type == "ComputeResource" {
			around = o.Ref
		}
		r.unplaced(f, around, "hosts")
		switch {
		case o.Ref.Type == "ClusterComputeResource":
			cluster := topology.Cluster{Name: r.name("cluster", o.Name), Marks: r.marks(o), Hosts: hosts}
			r.pools(f, o, &cluster.Pools, &cluster.VApps)
			dc.Clusters = append(dc.Clusters, cluster)
		case len(hosts) == 1:
			var vapps []topology.VApp
			r.pools(f, o, &hosts[0].Pools, &vapps)
			dc.Hosts = append(dc.Hosts, hosts[0])
		}
	}
}

// unplaced warns about tags that a topology cannot have: on folders without VMs, on datastore clusters, and on the compute
// resource of a standalone host. at is the innermost object, of its contents.
func (r *recorder) unplaced(f *found, at ref, of string) {
	for _, o := range f.inv.Tree.Up(at) {
		if o.Ref.Type == "Datacenter" {
			return
		}
		noun := "folder of " + of
		switch o.Ref.Type {
		case "StoragePod":
			noun = "datastore cluster"
		case "ComputeResource":
			noun = "compute resource around a host"
		case "VmwareDistributedVirtualSwitch", "DistributedVirtualSwitch":
			noun = "distributed switch"
		}
		for _, tag := range o.Tags {
			r.warn("tag %s of %s is not recorded: a topology has no tags on a %s", r.shown("tag", tag.String()), r.shown("folder", o.Name), noun)
		}
	}
}

// shown returns a name for a warning, which must not reveal names behind pseudonyms.
func (r *recorder) shown(kind, name string) string {
	if r.pseudonyms != nil {
		return r.pseudonyms.Name(kind, name)
	}
	return name
}

func (r *recorder) host(f *found, o *inventory.Object) topology.Host {
	h := f.hosts[o.Ref]
	host := topology.Host{Name: r.dns("host", o.Name), Marks: r.marks(o)}
	if hw := h.Summary.Hardware; hw != nil {
		host.CPUs, host.Memory = int32(hw.NumCpuCores), whole(hw.MemorySize)
	}
	if h.Runtime.InMaintenanceMode || h.Runtime.ConnectionState != "" && h.Runtime.ConnectionState != "connected" {
		r.warn("host %s is in maintenance or not connected: it is recorded as one that runs", host.Name)
	}
	return host
}

// whole rounds a size to mebibytes.
func whole(bytes int64) topology.Bytes { return topology.Bytes(bytes>>20) * topology.Mi }

// pools adds the pools and vApps of selected VMs, with their parents.
func (r *recorder) pools(f *found, compute *inventory.Object, pools *[]topology.Pool, vapps *[]topology.VApp) {
	t := f.inv.Tree
	needed := map[ref]bool{}
	for _, vm := range f.inv.VMs {
		if at := t.Above(vm.PoolRef, "ComputeResource", "ClusterComputeResource"); at == nil || at.Ref != compute.Ref {
			continue
		}
		for _, o := range t.Up(vm.PoolRef) {
			if t.Pool(o.Ref) == "" {
				break
			}
			needed[o.Ref] = true
		}
	}
	for _, o := range inOrder(f, needed) { // parents first
		above, lists := pools, vapps
		parents := strings.Split(t.Pool(o.Ref), "/")
		for _, name := range parents[:len(parents)-1] {
			name = r.name("pool", name)
			i := slices.IndexFunc(*above, func(p topology.Pool) bool { return p.Name == name })
			if i < 0 {
				above = nil
				break
			}
			above, lists = &(*above)[i].Pools, &(*above)[i].VApps
		}
		switch name := r.name("pool", o.Name); {
		case above == nil:
			r.warn("resource pool %s is not recorded: a topology has no pool in a vApp", name)
		case o.Ref.Type == "VirtualApp":
			*lists = append(*lists, topology.VApp{Name: name, Marks: r.marks(o)})
		default:
			*above = append(*above, topology.Pool{Name: name, Marks: r.marks(o)})
		}
	}
}

// datastores adds those that recorded hosts of the datacenter mount.
func (r *recorder) datastores(f *found, dc *topology.Datacenter, at *inventory.Object) {
	t := f.inv.Tree
	refs, hosts := map[ref]bool{}, map[ref]bool{}
	for host, h := range f.hosts {
		if o := t.Above(host, "Datacenter"); o == nil || o.Ref != at.Ref {
			continue
		}
		hosts[host] = true
		for _, datastore := range h.Datastore {
			refs[datastore] = true
		}
	}
	for _, o := range inOrder(f, refs) {
		r.unplaced(f, o.Parent, "datastores")
		if o.Parent.Type == "StoragePod" {
			r.warn("datastore %s is recorded without its datastore cluster: a topology has none", r.shown("datastore", o.Name))
		}
		s := f.datastores[o.Ref].Summary
		d := topology.Datastore{
			Name: r.name("datastore", o.Name), Marks: r.marks(o), Type: datastoreType(s.Type),
			Capacity: whole(s.Capacity),
			Used:     whole(min(max(s.Capacity-s.FreeSpace, 0), s.Capacity)), // overcommitted: full
		}
		if d.Type == "" {
			r.warn("datastore %s is of type %q, which is recorded as vmfs", d.Name, s.Type)
		}
		if d.Capacity == 0 {
			d.Used = 0 // an unreachable one gets the default
		}
		var mounting []string
		for _, host := range inOrder(f, hosts) {
			for _, datastore := range f.hosts[host.Ref].Datastore {
				if datastore == o.Ref {
					mounting = append(mounting, r.dns("host", host.Name))
				}
			}
		}
		if len(mounting) < len(hosts) {
			d.Hosts = mounting
		}
		dc.Datastores = append(dc.Datastores, d)
	}
}

func datastoreType(kind string) topology.DatastoreType {
	switch strings.ToLower(kind) {
	case "vmfs":
		return topology.VMFS
	case "nfs":
		return topology.NFS
	case "nfs41":
		return topology.NFS41
	case "vsan", "vsand":
		return topology.VSAN
	case "vvol":
		return topology.VVOL
	}
	return ""
}

// vm adds a VM to its datacenter.
func (r *recorder) vm(f *found, dc *topology.Datacenter, row inventory.VM) {
	t, m := f.inv.Tree, f.machines[row.Ref]
	vm := topology.VM{
		Name: r.name("vm", row.Name), Folder: r.path("folder", row.Folder), Pool: r.path("pool", row.Pool),
		Host: r.dns("host", row.Host), UUID: r.uuid(row.UUID), InstanceUUID: r.uuid(row.InstanceUUID),
		HardwareVersion: row.HardwareVersion, Marks: r.marks(t[row.Ref]),
	}
	if o := t[row.Ref]; o != nil && o.Parent.Type == "Folder" {
		for _, around := range t.Up(o.Parent) {
			if around.Ref.Type == "Datacenter" {
				break
			}
			dc.Folders = addFolder(dc.Folders, r.path("folder", t.Folder(around.Ref)), r.marks(around))
		}
	}
	if m.Config != nil {
		vm.CPUs, vm.Memory = m.Config.Hardware.NumCPU, topology.Bytes(m.Config.Hardware.MemoryMB)*topology.Mi
		vm.GuestID = m.Config.GuestId
		vm.Datastore = r.home(dc, vm, m.Config.Files.VmPathName)
	} else {
		r.warn("VM %s does not report its hardware, because its host is gone: the recording has default hardware", vm.Name)
	}
	if row.Template {
		vm.Template = topology.Yes
		vm.Pool = ""
	}
	vm.NICs = r.nics(f, dc, vm.Name, m, row.Template)
	if f.diskUUID[row.Ref] {
		vm.ExtraConfig = []topology.KeyValue{{Key: "disk.enableUUID", Value: "TRUE"}}
	}
	if row.Power != "poweredOn" && !row.Template {
		vm.Power = topology.PowerOff
	}
	if row.Power == "suspended" {
		r.warn("VM %s is suspended: it is recorded as powered off", vm.Name)
	}
	if row.Power == "poweredOn" && row.Tools != "guestToolsRunning" {
		vm.Tools = topology.No
	}
	vm.Hostname, vm.Role = r.dns("vm", strings.ToLower(row.Hostname)), r.role(row)
	if vm.Role != "" && vm.Hostname == "" {
		vm.Hostname = label(vm.Name)
		r.warn("VM %s reports no hostname: its node is called %s", vm.Name, vm.Hostname)
	}
	dc.VMs = append(dc.VMs, vm)
	want := topology.Place{Region: row.Region, Zone: row.Zone}
	if r.pseudonyms != nil {
		want = topology.Place{Region: r.pseudonyms.Name("region", row.Region), Zone: r.pseudonyms.Name("zone", row.Zone)}
	}
	r.zones = append(r.zones, want)
}

// home returns the datastore of a VM's files, "[datastore] path/name.vmx".
func (r *recorder) home(dc *topology.Datacenter, vm topology.VM, file string) string {
	name, _, ok := strings.Cut(strings.TrimPrefix(file, "["), "]")
	if !ok || !strings.HasPrefix(file, "[") {
		return ""
	}
	name = r.name("datastore", name)
	for _, d := range dc.Datastores {
		if d.Name == name && (len(d.Hosts) == 0 || slices.Contains(d.Hosts, vm.Host)) {
			return name
		}
	}
	r.warn("VM %s is on datastore %s, which its host does not mount: it is put on another", vm.Name, name)
	return ""
}

// role returns the VM's role in the cluster.
func (r *recorder) role(vm inventory.VM) topology.Role {
	is := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return glob.Match(p, vm.Name) })
	}
	switch {
	case vm.Template:
		return ""
	case is(r.ControlPlane):
		return topology.RoleControlPlane
	case is(r.Nodes), len(r.Nodes) == 0 && vm.Hostname != "":
		return topology.RoleWorker
	}
	return ""
}

// nics adds a VM's NICs, and their networks to the datacenter.
func (r *recorder) nics(f *found, dc *topology.Datacenter, name string, m mo.VirtualMachine, template bool) []topology.NIC {
	if m.Config == nil {
		return nil
	}
	var nics []topology.NIC
	for _, device := range m.Config.Hardware.Device {
		card, ok := device.(types.BaseVirtualEthernetCard)
		if !ok {
			continue
		}
		ethernet := card.GetVirtualEthernetCard()
		nic := topology.NIC{Network: r.network(f, dc, ethernet.Backing)}
		if nic.Network == "" {
			r.warn("a network card of VM %s is on a network that is not recorded: it is put on the first one", name)
		}
		if r.pseudonyms == nil {
			nic.MAC = ethernet.MacAddress
		}
		if m.Guest != nil && !template {
			for _, reported := range m.Guest.Net {
				if reported.DeviceConfigId == ethernet.Key {
					nic.Addresses = r.addresses(reported)
				}
			}
		}
		nics = append(nics, nic)
	}
	if len(nics) == 0 {
		r.warn("VM %s has no network card: it is recorded with one", name)
	}
	return nics
}

// network returns the name of a NIC's network, which it adds to the datacenter; empty if that is not possible.
func (r *recorder) network(f *found, dc *topology.Datacenter, backing types.BaseVirtualDeviceBackingInfo) string {
	switch b := backing.(type) {
	case *types.VirtualEthernetCardNetworkBackingInfo:
		name := b.DeviceName
		var marks topology.Marks
		if b.Network != nil {
			if o := f.inv.Tree[*b.Network]; o != nil {
				name, marks = o.Name, r.marks(o)
				r.unplaced(f, o.Parent, "networks")
			}
		}
		if name = r.name("network", name); name != "" {
			if !slices.ContainsFunc(dc.Networks, func(n topology.Network) bool { return n.Name == name }) {
				dc.Networks = append(dc.Networks, topology.Network{Name: name, Marks: marks})
			}
		}
		return name
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		group, ok := f.groups[ref{Type: "DistributedVirtualPortgroup", Value: b.Port.PortgroupKey}]
		if !ok || group.Config.DistributedVirtualSwitch == nil {
			return ""
		}
		o, of := f.inv.Tree[group.Self], f.inv.Tree[*group.Config.DistributedVirtualSwitch]
		if o == nil || of == nil {
			return ""
		}
		r.unplaced(f, o.Parent, "networks")
		return r.portGroup(dc, r.name("switch", of.Name), topology.PortGroup{
			Network: topology.Network{Name: r.name("network", o.Name), Marks: r.marks(o)}, VLAN: r.vlan(group),
		})
	}
	return ""
}

// portGroup adds a port group to a switch, once.
func (r *recorder) portGroup(dc *topology.Datacenter, on string, group topology.PortGroup) string {
	i := slices.IndexFunc(dc.Switches, func(s topology.Switch) bool { return s.Name == on })
	if i < 0 {
		i = len(dc.Switches)
		dc.Switches = append(dc.Switches, topology.Switch{Name: on})
	}
	groups := &dc.Switches[i].PortGroups
	if !slices.ContainsFunc(*groups, func(g topology.PortGroup) bool { return g.Name == group.Name }) {
		*groups = append(*groups, group)
	}
	return group.Name
}

// vlan returns the ID of the group's VLAN, or its pseudonym.
func (r *recorder) vlan(group mo.DistributedVirtualPortgroup) int32 {
	ports, ok := group.Config.DefaultPortConfig.(*types.VMwareDVSPortSetting)
	if !ok {
		return 0
	}
	spec, ok := ports.Vlan.(*types.VmwareDistributedVirtualSwitchVlanIdSpec)
	if !ok {
		return 0
	}
	if r.pseudonyms == nil {
		return spec.VlanId
	}
	id, err := r.pseudonyms.VLAN(spec.VlanId)
	if err != nil {
		r.warn("a VLAN is not recorded: %v", err)
	}
	return id
}

// addresses returns what the guest reports for a NIC, with prefix lengths if known.
func (r *recorder) addresses(nic types.GuestNicInfo) []string {
	var all []string
	add := func(text string, bits int32) {
		ip, err := netip.ParseAddr(text)
		if err != nil || ip.IsLinkLocalUnicast() || ip.IsLoopback() || ip.IsUnspecified() || ip.IsMulticast() {
			return
		}
		if bits == 0 {
			if bits = 24; ip.Is6() {
				bits = 64
			}
		}
		prefix := netip.PrefixFrom(ip.WithZone(""), int(bits))
		if r.pseudonyms != nil {
			if prefix, err = r.pseudonyms.Address(prefix); err != nil {
				r.warn("an address is not recorded: %v", err)
				return
			}
		}
		if text := prefix.String(); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	if nic.IpConfig == nil {
		for _, ip := range nic.IpAddress {
			add(ip, 0)
		}
		return all
	}
	for _, ip := range nic.IpConfig.IpAddress {
		add(ip.IpAddress, ip.PrefixLength)
	}
	return all
}
