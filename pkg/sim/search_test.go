package sim_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

func TestSearchIndex(t *testing.T) {
	s := start(t, zones, nil)
	c := s.login(t, s.vcenter(t, "vc-us"))
	west, east := ref(t, c, "/americas/dcwest"), ref(t, c, "/americas/dceast")
	cp := vm(t, c, "/americas/dcwest/vm/k8s/masters/cp-1")
	var props mo.VirtualMachine
	get(t, c, cp.Reference(), &props, "config.uuid", "config.instanceUuid", "guest.ipAddress")
	cp1 := cp.Reference().Value
	host := ref(t, c, "/americas/dcwest/host/c1/west-1")
	uuid, standalone := hostUUID(t, c, host), ref(t, c, "/americas/dcwest/host/10.7.0.1/10.7.0.1")

	index := *c.ServiceContent.SearchIndex
	byUUID := func(dc *types.ManagedObjectReference, uuid string, vm, instance bool) []types.ManagedObjectReference {
		all, err := methods.FindAllByUuid(t.Context(), c, &types.FindAllByUuid{This: index, Datacenter: dc, Uuid: uuid, VmSearch: vm, InstanceUuid: &instance})
		if err != nil {
			t.Fatal(err)
		}
		one, err := methods.FindByUuid(t.Context(), c, &types.FindByUuid{This: index, Datacenter: dc, Uuid: uuid, VmSearch: vm, InstanceUuid: &instance})
		if err != nil {
			t.Fatal(err)
		}
		return agree(t, all.Returnval, one.Returnval)
	}
	byName := func(dc *types.ManagedObjectReference, name string, vm bool) []types.ManagedObjectReference {
		all, err := methods.FindAllByDnsName(t.Context(), c, &types.FindAllByDnsName{This: index, Datacenter: dc, DnsName: name, VmSearch: vm})
		if err != nil {
			t.Fatal(err)
		}
		one, err := methods.FindByDnsName(t.Context(), c, &types.FindByDnsName{This: index, Datacenter: dc, DnsName: name, VmSearch: vm})
		if err != nil {
			t.Fatal(err)
		}
		return agree(t, all.Returnval, one.Returnval)
	}
	byIP := func(dc *types.ManagedObjectReference, ip string, vm bool) []types.ManagedObjectReference {
		all, err := methods.FindAllByIp(t.Context(), c, &types.FindAllByIp{This: index, Datacenter: dc, Ip: ip, VmSearch: vm})
		if err != nil {
			t.Fatal(err)
		}
		one, err := methods.FindByIp(t.Context(), c, &types.FindByIp{This: index, Datacenter: dc, Ip: ip, VmSearch: vm})
		if err != nil {
			t.Fatal(err)
		}
		return agree(t, all.Returnval, one.Returnval)
	}

	for _, tc := range []struct {
		name string
		got  []types.ManagedObjectReference
		want string // "" for nothing
	}{
		{"UUID", byUUID(nil, props.Config.Uuid, true, false), cp1},
		{"UUID in its datacenter", byUUID(&west, props.Config.Uuid, true, false), cp1},
		{"UUID in the other datacenter", byUUID(&east, props.Config.Uuid, true, false), ""},
		{"UUID in upper case", byUUID(&west, strings.ToUpper(props.Config.Uuid), true, false), cp1},
		{"instance UUID", byUUID(&west, props.Config.InstanceUuid, true, true), cp1},
		{"instance UUID as a BIOS UUID", byUUID(nil, props.Config.InstanceUuid, true, false), ""},
		{"no UUID", byUUID(nil, "", true, false), ""},
		{"host by UUID", byUUID(&west, uuid, false, false), host.Value},
		{"host by UUID elsewhere", byUUID(&east, uuid, false, false), ""},
		{"name", byName(nil, "cp-1.example.org", true), cp1},
		{"name in any case", byName(&west, "CP-1.Example.ORG", true), cp1},
		{"name in the other datacenter", byName(&east, "cp-1.example.org", true), ""},
		{"name of a VM that is off", byName(nil, "off-1", true), ""},
		{"no name", byName(nil, "", true), ""},
		{"host by name", byName(&west, "WEST-1", false), host.Value},
		{"first address", byIP(nil, props.Guest.IpAddress, true), cp1},
		{"IPv6 address, written differently", byIP(&west, "2001:DB8:0::0005", true), cp1},
		{"address of the second card", byIP(&west, "10.1.0.5", true), cp1},
		{"address in the other datacenter", byIP(&east, "10.1.0.5", true), ""},
		{"no address", byIP(nil, "", true), ""},
		{"host by address", byIP(&west, "10.7.0.1", false), standalone.Value},
	} {
		var got string
		if len(tc.got) == 1 {
			got = tc.got[0].Value
		}
		if len(tc.got) > 1 || got != tc.want {
			t.Errorf("%s: %v, want %q", tc.name, tc.got, tc.want)
		}
	}
}

// agree checks that find-one found one of what find-all found.
func agree(t *testing.T, all []types.ManagedObjectReference, one *types.ManagedObjectReference) []types.ManagedObjectReference {
	t.Helper()
	if (one == nil) != (len(all) == 0) || (one != nil && !slices.Contains(all, *one)) {
		t.Errorf("one is %v, all are %v", one, all)
	}
	return all
}

func TestSearchIndexFollowsChanges(t *testing.T) {
	s := start(t, zones, nil)
	c := s.login(t, s.vcenter(t, "vc-us"))
	index := object.NewSearchIndex(c.Client)
	off := vm(t, c, "/americas/dcwest/vm/off-1")
	found := func(uuid string) bool {
		t.Helper()
		r, err := index.FindByUuid(t.Context(), nil, uuid, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r != nil && r.Reference() == off.Reference()
	}
	was := off.UUID(t.Context())
	const is = "11111111-2222-3333-4444-555555555555"
	must(t)(off.Reconfigure(t.Context(), types.VirtualMachineConfigSpec{Uuid: is}))
	if found(was) || !found(is) {
		t.Errorf("after a change of UUID: old %v, new %v", found(was), found(is))
	}
	must(t)(off.Destroy(t.Context()))
	if found(is) {
		t.Error("a destroyed VM is found")
	}
}
