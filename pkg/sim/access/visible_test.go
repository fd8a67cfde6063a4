package access_test

import (
	"testing"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	pc "github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/access"
)

// What a client with a permission on one datacenter finds, the ways that clients go about it.
func TestPropertyCollector(t *testing.T) {
	v := newVCenter(t, access.Options{Users: users("cpi@vsphere.local")})
	dcs := v.all("Datacenter")
	v.grant(t, dcs[0], "cpi", "ReadOnly", "")
	c := v.as(t, "cpi")
	mine, others := v.in(dcs[0], "VirtualMachine"), v.in(dcs[1], "VirtualMachine")

	finder := find.NewFinder(c)
	found, err := finder.DatacenterList(t.Context(), "*")
	if err != nil || len(found) != 1 || found[0].InventoryPath != "/DC0" {
		t.Fatalf("datacenters: %v, %v", found, err)
	}
	if vms, err := finder.VirtualMachineList(t.Context(), "/DC0/vm/*"); err != nil || len(vms) != len(mine) {
		t.Errorf("VMs: %v, %v", vms, err)
	}
	if _, err := finder.VirtualMachineList(t.Context(), "/DC1/vm/*"); err == nil {
		t.Error("VMs of the other datacenter are found")
	}
	var vm mo.VirtualMachine
	if err := pc.DefaultCollector(c).RetrieveOne(t.Context(), mine[0], []string{"name", "config.uuid"}, &vm); err != nil || vm.Config == nil {
		t.Errorf("a VM: %v", err)
	}
	if err := pc.DefaultCollector(c).RetrieveOne(t.Context(), others[0], []string{"name"}, &vm); err == nil {
		t.Error("a VM of the other datacenter is read")
	}

	all, err := view.NewManager(c).CreateContainerView(t.Context(), v.root(), []string{"VirtualMachine"}, true)
	if err != nil {
		t.Fatal(err)
	}
	var vms []mo.VirtualMachine
	if err := all.Retrieve(t.Context(), []string{"VirtualMachine"}, []string{"name"}, &vms); err != nil || len(vms) != len(mine) {
		t.Errorf("%d VMs in the view, want %d: %v", len(vms), len(mine), err)
	}
	if _, err := view.NewManager(c).CreateContainerView(t.Context(), dcs[1], nil, true); !fault.Is(err, &types.NoPermission{}) {
		t.Errorf("view of the other datacenter: %v", err)
	}

	// A watcher learns of a permission that it gets, and of one that it loses.
	p, err := pc.DefaultCollector(c).Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.CreateFilter(t.Context(), types.CreateFilter{Spec: types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{
			Obj: all.Reference(), Skip: new(true),
			SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "ContainerView", Path: "view"}},
		}},
		PropSet: []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{"name"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	seen, version := map[types.ManagedObjectReference]bool{}, ""
	for _, step := range []struct {
		role string
		want int
	}{{"", len(mine)}, {"ReadOnly", len(mine) + len(others)}, {"NoAccess", len(mine)}} {
		if step.role != "" {
			v.grant(t, dcs[1], "cpi", step.role, "")
		}
		for len(seen) != step.want {
			res, err := methods.WaitForUpdatesEx(t.Context(), c, &types.WaitForUpdatesEx{
				This: p.Reference(), Version: version, Options: &types.WaitOptions{MaxWaitSeconds: types.NewInt32(10)},
			})
			if err != nil {
				t.Fatal(err)
			}
			if res.Returnval == nil {
				t.Fatalf("role %q: %d VMs are seen, want %d", step.role, len(seen), step.want)
			}
			version = res.Returnval.Version
			for _, set := range res.Returnval.FilterSet {
				for _, o := range set.ObjectSet {
					switch o.Kind {
					case types.ObjectUpdateKindEnter:
						seen[o.Obj] = true
					case types.ObjectUpdateKindLeave:
						delete(seen, o.Obj)
					}
				}
			}
		}
	}
}
