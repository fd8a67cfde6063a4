package apply_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// inventory is what a vCenter holds, by path, as text that does not depend on references.
func inventory(t *testing.T, lab *sim.Lab, vcenter string) map[string][]string {
	t.Helper()
	ctx := t.Context()
	c := lab.Client(vcenter).Client
	v, err := view.NewManager(c).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"ManagedEntity"}, true)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Destroy(context.WithoutCancel(ctx))
	refs, err := v.Find(ctx, []string{"ManagedEntity"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []mo.ManagedEntity
	var contents []types.ObjectContent
	pc := property.DefaultCollector(c)
	if err := pc.Retrieve(ctx, refs, []string{"name", "parent"}, &contents); err != nil {
		t.Fatal(err)
	}
	for _, content := range contents {
		// Not loaded into a struct: networks have a name beside that of entities.
		var e mo.ManagedEntity
		e.Self = content.Obj
		for _, p := range content.PropSet {
			switch v := p.Val.(type) {
			case string:
				e.Name = v
			case types.ManagedObjectReference:
				e.Parent = &v
			}
		}
		all = append(all, e)
	}
	byRef := map[types.ManagedObjectReference]mo.ManagedEntity{}
	for _, e := range all {
		byRef[e.Self] = e
	}
	var path func(types.ManagedObjectReference) string
	path = func(r types.ManagedObjectReference) string {
		e, ok := byRef[r]
		if !ok || e.Parent == nil {
			return ""
		}
		return path(*e.Parent) + "/" + e.Name
	}
	paths := func(list []types.ManagedObjectReference) string {
		var names []string
		for _, r := range list {
			names = append(names, path(r))
		}
		slices.Sort(names)
		return strings.Join(names, ",")
	}
	tagged := tagsByRef(t, lab, vcenter)
	out := map[string][]string{}
	for _, e := range all {
		if strings.Contains(e.Name, "DVUplinks") {
			continue
		}
		lines := []string{e.Self.Type, "tags=" + strings.Join(tagged[e.Self], ",")}
		switch e.Self.Type {
		case "HostSystem":
			var h mo.HostSystem
			retrieve(t, pc, e.Self, &h)
			lines = append(lines, fmt.Sprintf("cpus=%d memory=%d version=%s", h.Hardware.CpuInfo.NumCpuCores, h.Hardware.MemorySize, h.Config.Product.Version),
				"vms="+paths(h.Vm), "networks="+paths(notUplinks(h.Network, byRef)), "datastores="+paths(h.Datastore), "uuid="+h.Hardware.SystemInfo.Uuid)
		case "Datastore":
			var d mo.Datastore
			retrieve(t, pc, e.Self, &d)
			var on []types.ManagedObjectReference
			for _, m := range d.Host {
				on = append(on, m.Key)
			}
			lines = append(lines, fmt.Sprintf("type=%s capacity=%d", d.Summary.Type, d.Summary.Capacity), "hosts="+paths(on), "vms="+paths(d.Vm))
		case "Network", "DistributedVirtualPortgroup":
			var n mo.Network
			retrieve(t, pc, e.Self, &n)
			lines = append(lines, "hosts="+paths(n.Host))
		case "ResourcePool", "VirtualApp":
			var p mo.ResourcePool
			retrieve(t, pc, e.Self, &p)
			lines = append(lines, "vms="+paths(p.Vm))
		case "ClusterComputeResource", "ComputeResource":
			var r mo.ComputeResource
			retrieve(t, pc, e.Self, &r)
			s := r.Summary.GetComputeResourceSummary()
			lines = append(lines, fmt.Sprintf("cpu=%d memory=%d cores=%d hosts=%d", s.TotalCpu, s.TotalMemory, s.NumCpuCores, s.NumHosts),
				"networks="+paths(notUplinks(r.Network, byRef)), "datastores="+paths(r.Datastore))
		case "VirtualMachine":
			var vm mo.VirtualMachine
			retrieve(t, pc, e.Self, &vm)
			lines = append(lines, fmt.Sprintf("uuid=%s instance=%s guestId=%s version=%s template=%t cpus=%d memory=%d power=%s",
				vm.Config.Uuid, vm.Config.InstanceUuid, vm.Config.GuestId, vm.Config.Version, vm.Config.Template, vm.Config.Hardware.NumCPU, vm.Config.Hardware.MemoryMB, vm.Runtime.PowerState),
				"host="+path(*vm.Runtime.Host), "datastore="+paths(vm.Datastore), "networks="+paths(vm.Network))
			if vm.ResourcePool != nil {
				lines = append(lines, "pool="+path(*vm.ResourcePool))
			}
			for _, d := range vm.Config.Hardware.Device {
				if card, ok := d.(types.BaseVirtualEthernetCard); ok {
					lines = append(lines, "nic="+card.GetVirtualEthernetCard().MacAddress)
				}
			}
			var extra []string
			for _, o := range vm.Config.ExtraConfig {
				extra = append(extra, fmt.Sprintf("%s=%v", o.GetOptionValue().Key, o.GetOptionValue().Value))
			}
			slices.Sort(extra)
			lines = append(lines, extra...)
			if vm.Snapshot != nil {
				for list := vm.Snapshot.RootSnapshotList; len(list) > 0; list = list[0].ChildSnapshotList {
					lines = append(lines, "snapshot="+list[0].Name+":"+list[0].Description)
				}
			}
			if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
				lines = append(lines, fmt.Sprintf("guest=%s %s tools=%s %s", vm.Guest.HostName, vm.Guest.IpAddress, vm.Guest.ToolsRunningStatus, vm.Summary.Guest.HostName))
				for _, nic := range vm.Guest.Net {
					line := "guest " + nic.Network + " " + nic.MacAddress
					if nic.IpConfig != nil {
						for _, a := range nic.IpConfig.IpAddress {
							line += fmt.Sprintf(" %s/%d", a.IpAddress, a.PrefixLength)
						}
					}
					lines = append(lines, line)
				}
			}
		}
		out[path(e.Self)] = append(out[path(e.Self)], lines...)
	}
	return out
}

func notUplinks(refs []types.ManagedObjectReference, byRef map[types.ManagedObjectReference]mo.ManagedEntity) []types.ManagedObjectReference {
	return slices.DeleteFunc(slices.Clone(refs), func(r types.ManagedObjectReference) bool { return strings.Contains(byRef[r].Name, "DVUplinks") })
}

func retrieve(t *testing.T, pc *property.Collector, r types.ManagedObjectReference, dst any) {
	t.Helper()
	if err := pc.RetrieveOne(t.Context(), r, nil, dst); err != nil {
		t.Fatal(err)
	}
}

func tagsByRef(t *testing.T, lab *sim.Lab, vcenter string) map[types.ManagedObjectReference][]string {
	t.Helper()
	m := tags.NewManager(lab.REST(vcenter))
	list, err := m.GetTags(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	categories, err := m.GetCategories(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, c := range categories {
		names[c.ID] = c.Name
	}
	out := map[types.ManagedObjectReference][]string{}
	for _, tag := range list {
		on, err := m.ListAttachedObjects(t.Context(), tag.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range on {
			out[o.Reference()] = append(out[o.Reference()], names[tag.CategoryID]+"/"+tag.Name)
		}
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}

// alike compares a lab with a fresh start of a topology.
func alike(t *testing.T, lab *sim.Lab, b string) {
	t.Helper()
	fresh := sim.Start(t, head+b)
	for _, v := range fresh.VCenters() {
		if diff := cmp.Diff(inventory(t, fresh, v.Name()), inventory(t, lab, v.Name())); diff != "" {
			t.Errorf("vcenter %s (-fresh +applied):\n%s", v.Name(), diff)
		}
	}
}
