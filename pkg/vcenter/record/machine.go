package record

import (
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/glob"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
)

// machine adds a VM to its datacenter.
func (r *recorder) machine(f *found, dc *topology.Datacenter, row inventory.VM) {
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
		r.warn("VM %s tells nothing of its hardware, its host being gone: the recording makes it up", vm.Name)
	}
	if row.Template {
		vm.Template = topology.Yes
		vm.Pool = ""
	}
	vm.NICs = r.cards(f, dc, vm.Name, m, row.Template)
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

// home is the datastore of a VM's files, "[datastore] path/name.vmx".
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

// role is what the VM is to be in the cluster.
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
