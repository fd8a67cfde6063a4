package world_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

func TestItems(t *testing.T) {
	b := small()
	b.add(vcenter.Enter, mo("Folder", "dc-ds"), props{"name": "datastore", "parent": dc})
	b.add(vcenter.Enter, mo("Datastore", "ds-1"), props{"name": "fast", "parent": mo("Folder", "dc-ds")})
	i := inventory(b)
	tags := world.Tags{Region: map[ref]string{dc: "r"}, Zone: map[ref]string{cluster: "z1", dc: "z"}}
	if !i.SetTags(tags) {
		t.Error("tags are no change")
	}
	if i.SetTags(tags) {
		t.Error("the same tags are a change")
	}
	for kind, want := range map[string][]world.Item{
		"Datastore": {{Name: "fast", Path: "/americas/dc/datastore/fast", Ref: mo("Datastore", "ds-1"), Datacenter: "dc", Region: "r", Zone: "z"}},
		"HostSystem": {
			{Name: "esx-1", Path: "/americas/dc/host/c1/esx-1", Ref: esx1, Datacenter: "dc", Cluster: "c1", Host: "esx-1", Region: "r", Zone: "z1"},
			{Name: "esx-2", Path: "/americas/dc/host/esx-2/esx-2", Ref: esx2, Datacenter: "dc", Host: "esx-2", Region: "r", Zone: "z"},
		},
		"ClusterComputeResource": {{Name: "c1", Path: "/americas/dc/host/c1", Ref: cluster, Datacenter: "dc", Cluster: "c1", Region: "r", Zone: "z1"}},
		"Datacenter":             {{Name: "dc", Path: "/americas/dc", Ref: dc, Datacenter: "dc", Region: "r", Zone: "z"}},
		"Network":                nil,
	} {
		if diff := cmp.Diff(want, i.Items(kind)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
	if dcs, hosts, vms := i.Count(); dcs != 1 || hosts != 2 || vms != 2 {
		t.Errorf("%d datacenters, %d hosts, %d VMs", dcs, hosts, vms)
	}
	if v, ok := i.VM(vm1); !ok || v.Name != "a" || v.Zone != "z1" {
		t.Errorf("%+v, %v", v, ok)
	}
	if _, ok := i.VM(mo("VirtualMachine", "vm-9")); ok {
		t.Error("there is a vm-9")
	}
}

// Objects around VMs are reported after them, with more than their place.
func TestAround(t *testing.T) {
	var got []bool
	i := world.NewInventory("vc", nil)
	i.Around = func(_ *world.Inventory, others bool) { got = append(got, others) }
	i.Update(small())
	for _, p := range []struct {
		kind vcenter.Kind
		ref  ref
		p    props
	}{
		{vcenter.Modify, vm1, props{"name": "z"}}, // nothing but the VM
		{vcenter.Modify, vm1, props{"runtime.host": esx2}},
		{vcenter.Modify, esx1, props{"name": "esx-9"}},
		{vcenter.Leave, vm1, nil},
	} {
		var b batch
		b.add(p.kind, p.ref, p.p)
		i.Update(b)
	}
	if diff := cmp.Diff([]bool{true, false, true, false}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
