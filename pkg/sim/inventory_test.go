package sim_test

import (
	"context"
	"errors"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

func TestVMIsAsTheTopologySays(t *testing.T) {
	s := start(t, zones, nil)
	v := s.vcenter(t, "vc-us")
	c := s.login(t, v)
	var m mo.VirtualMachine
	get(t, c, vm(t, c, "/americas/dcwest/vm/k8s/masters/cp-1").Reference(), &m)

	if m.Config.Hardware.NumCPU != 4 || m.Config.Hardware.MemoryMB != 8192 || m.Summary.Config.NumCpu != 4 {
		t.Errorf("%d CPUs and %d MB", m.Config.Hardware.NumCPU, m.Config.Hardware.MemoryMB)
	}
	if m.Config.GuestId != "ubuntu64Guest" || m.Config.GuestFullName != "Ubuntu Linux (64-bit)" {
		t.Errorf("guest %s, %s", m.Config.GuestId, m.Config.GuestFullName)
	}
	if m.Config.Uuid == "" || m.Config.Uuid != m.Summary.Config.Uuid || m.Config.InstanceUuid == "" || m.Config.Uuid == m.Config.InstanceUuid {
		t.Errorf("UUIDs %q, %q", m.Config.Uuid, m.Config.InstanceUuid)
	}
	if !slices.ContainsFunc(m.Config.ExtraConfig, func(o types.BaseOptionValue) bool {
		return o.GetOptionValue().Key == "disk.EnableUUID" && o.GetOptionValue().Value == "TRUE"
	}) {
		t.Error("disk.EnableUUID is not set on a node")
	}
	if m.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn || m.Runtime.BootTime == nil || m.Summary.Runtime.BootTime == nil {
		t.Errorf("runtime %+v", m.Runtime)
	}
	devices := object.VirtualDeviceList(m.Config.Hardware.Device)
	if n := len(devices.SelectByType((*types.ParaVirtualSCSIController)(nil))); n != 1 {
		t.Errorf("%d PVSCSI controllers", n)
	}
	if n := len(devices.SelectByType((*types.VirtualDisk)(nil))); n != 1 {
		t.Errorf("%d disks", n)
	}

	if m.Guest.HostName != "cp-1.example.org" || m.Summary.Guest.HostName != m.Guest.HostName || m.Guest.IpAddress != "198.18.5.1" {
		t.Errorf("guest %q at %q", m.Guest.HostName, m.Guest.IpAddress)
	}
	if m.Guest.ToolsRunningStatus != string(types.VirtualMachineToolsRunningStatusGuestToolsRunning) || m.Guest.GuestState != "running" {
		t.Errorf("tools %s, guest %s", m.Guest.ToolsRunningStatus, m.Guest.GuestState)
	}
	type nic struct {
		network   string
		addresses []string
		bits      []int32
	}
	var got []nic
	for i, n := range m.Guest.Net {
		g := nic{network: n.Network, addresses: n.IpAddress}
		for _, a := range n.IpConfig.IpAddress {
			g.bits = append(g.bits, a.PrefixLength)
		}
		got = append(got, g)
		card := devices.FindByKey(n.DeviceConfigId).(types.BaseVirtualEthernetCard).GetVirtualEthernetCard()
		if card.MacAddress != n.MacAddress || n.MacAddress == "" {
			t.Errorf("NIC %d has MAC %s, its card %s", i, n.MacAddress, card.MacAddress)
		}
	}
	want := []nic{{"nodes", []string{"198.18.5.1", "2001:db8::5"}, []int32{16, 64}}, {"storage", []string{"10.1.0.5"}, []int32{24}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(nic{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	var off mo.VirtualMachine
	get(t, c, vm(t, c, "/americas/dcwest/vm/off-1").Reference(), &off, "guest", "runtime", "summary")
	if off.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff || off.Guest.HostName != "" || off.Runtime.BootTime != nil {
		t.Errorf("off-1: %s, guest %q", off.Runtime.PowerState, off.Guest.HostName)
	}
	if n := v.VMs(); n != 5 {
		t.Errorf("%d VMs", n)
	}
}

func TestHostsDatastoresNetworks(t *testing.T) {
	s := start(t, zones, nil)
	c := s.login(t, s.vcenter(t, "vc-us"))
	f := find.NewFinder(c.Client, true)

	var west mo.HostSystem
	get(t, c, ref(t, c, "/americas/dcwest/host/c1/west-1"), &west)
	if h := west.Summary.Hardware; h.NumCpuCores != 32 || h.MemorySize != 128<<30 || west.Hardware.CpuInfo.NumCpuCores != 32 {
		t.Errorf("host: %d cores, %d bytes", h.NumCpuCores, h.MemorySize)
	}
	var cluster mo.ClusterComputeResource
	get(t, c, ref(t, c, "/americas/dcwest/host/c1"), &cluster)
	if sum := cluster.Summary.GetComputeResourceSummary(); sum.NumCpuCores != 64 || sum.TotalMemory != 256<<30 || sum.NumHosts != 2 {
		t.Errorf("cluster: %+v", sum)
	}
	var standalone mo.HostSystem
	get(t, c, ref(t, c, "/americas/dcwest/host/10.7.0.1/10.7.0.1"), &standalone)
	if standalone.Config.Network.Vnic[0].Spec.Ip.IpAddress != "10.7.0.1" || standalone.Runtime.ConnectionState != types.HostSystemConnectionStateConnected {
		t.Errorf("standalone host: %s", standalone.Runtime.ConnectionState)
	}

	for _, tc := range []struct {
		path  string
		hosts []string
		size  int64
	}{
		{"/americas/dcwest/datastore/shared", []string{"10.7.0.1", "west-1", "west-2", "west-9"}, 2 << 40},
		{"/americas/dcwest/datastore/local-1", []string{"west-1"}, 100 << 30},
		{"/americas/dceast/datastore/dceast-ds", []string{"east-1"}, 1 << 40},
	} {
		ds, err := f.Datastore(t.Context(), tc.path)
		if err != nil {
			t.Fatal(err)
		}
		var d mo.Datastore
		get(t, c, ds.Reference(), &d)
		var hosts []string
		for _, m := range d.Host {
			name, err := object.NewHostSystem(c.Client, m.Key).ObjectName(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			hosts = append(hosts, name)
		}
		sort.Strings(hosts)
		if diff := cmp.Diff(tc.hosts, hosts); diff != "" || d.Summary.Capacity != tc.size || d.Summary.Type != "VMFS" {
			t.Errorf("%s: %d bytes of %s, hosts -want +got:\n%s", tc.path, d.Summary.Capacity, d.Summary.Type, diff)
		}
		if *d.Summary.MultipleHostAccess != (len(hosts) > 1) {
			t.Errorf("%s: multipleHostAccess %v", tc.path, *d.Summary.MultipleHostAccess)
		}
		if err := ds.Properties(t.Context(), ds.Reference(), nil, &d); err != nil {
			t.Fatal(err)
		}
	}

	networks, err := f.NetworkList(t.Context(), "/americas/dcwest/network/*")
	if err != nil || len(networks) != 2 {
		t.Errorf("%d networks, %v", len(networks), err)
	}
	if len(standalone.Network) != 2 || len(cluster.Network) != 2 {
		t.Errorf("host sees %d networks, cluster %d", len(standalone.Network), len(cluster.Network))
	}
}

func TestRegionsAndZonesAreTags(t *testing.T) {
	s := start(t, zones, nil)
	v := s.vcenter(t, "vc-us")
	c := s.login(t, v)
	m := tags.NewManager(s.rest(t, v))
	for name, want := range map[string]map[string][]string{
		"k8s-region": {"us": {"/americas"}},
		"k8s-zone": {
			"us-west":   {"/americas/dcwest"},
			"us-east":   {"/americas/dceast"},
			"us-west-2": {"/americas/dcwest/host/c2"},
			"attic":     {"/americas/dcwest/host/10.7.0.1/10.7.0.1"},
		},
	} {
		category, err := m.GetCategory(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if category.Cardinality != "SINGLE" || !slices.Contains(category.AssociableTypes, "HostSystem") {
			t.Errorf("category %+v", category)
		}
		all, err := m.GetTagsForCategory(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]string{}
		for _, tag := range all {
			objects, err := m.ListAttachedObjects(t.Context(), tag.ID)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range objects {
				path, err := find.InventoryPath(t.Context(), c.Client, o.Reference())
				if err != nil {
					t.Fatal(err)
				}
				got[tag.Name] = append(got[tag.Name], path)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// TestSameTopologySameIdentities is what lets a node that was made from a VM find it again.
func TestSameTopologySameIdentities(t *testing.T) {
	look := func() map[string]string {
		s := start(t, zones, nil)
		ids := map[string]string{}
		for _, v := range s.VCenters() {
			c := s.login(t, v)
			all, err := find.NewFinder(c.Client, true).VirtualMachineList(t.Context(), "/...")
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range all {
				var props mo.VirtualMachine
				get(t, c, m.Reference(), &props, "config")
				id := m.Reference().Value + " " + props.Config.Uuid + " " + props.Config.InstanceUuid
				for _, d := range props.Config.Hardware.Device {
					if card, ok := d.(types.BaseVirtualEthernetCard); ok {
						id += " " + card.GetVirtualEthernetCard().MacAddress
					}
				}
				ids[v.Name()+m.InventoryPath] = id
			}
			west, err := object.NewSearchIndex(c.Client).FindByDnsName(t.Context(), nil, "west-1", false)
			if err != nil || west == nil {
				t.Fatalf("host west-1: %v", err)
			}
			ids[v.Name()] = v.InstanceUUID() + " " + hostUUID(t, c, west.Reference())
		}
		return ids
	}
	if diff := cmp.Diff(look(), look()); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
}

func TestFailedBuildLeavesNothing(t *testing.T) {
	top := load(t, zones)
	top.Spec.VCenters[1].Datacenters[0].VMs[0].Datastore = "elsewhere"
	_, err := sim.New(t.Context(), sim.Options{
		Topology: top, CA: authority(t), Dir: t.TempDir(), Addresses: []string{"127.0.0.1:0", "127.0.0.1:0"},
	})
	if err == nil {
		t.Fatal("a datastore that does not exist was accepted")
	}
	if !strings.Contains(err.Error(), `vcenter "vc-eu": datacenter "dceu": VM "worker-4"`) {
		t.Errorf("error %q does not say which VM", err)
	}
}

func TestBuildIsCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := sim.New(ctx, sim.Options{
		Topology: load(t, zones), CA: authority(t), Dir: t.TempDir(), Addresses: []string{"127.0.0.1:0", "127.0.0.1:0"},
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}
