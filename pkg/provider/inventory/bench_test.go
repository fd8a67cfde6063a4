package inventory_test

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// crowd is the number of VMs in the benchmarks.
const crowd = 10000

// clone returns a copy that shares no memory, as in data from the network.
func clone(s string) string { return strings.Clone(s) }

// guestVM is a vCenter's report of a Kubernetes node: two hardware adapters, four of the CNI's, metadata of 1.4 kB.
func guestVM(i int, folder, host, pool types.ManagedObjectReference) vcenter.Update {
	name := fmt.Sprintf("worker-%05d", i)
	ip := fmt.Sprintf("10.%d.%d.%d", 20+i>>16, i>>8&255, i&255)
	nics := []types.GuestNicInfo{
		{Network: clone("VM Network nodes"), DeviceConfigId: 4000, IpAddress: []string{ip, fmt.Sprintf("2001:db8::%x", i+1), "fe80::250:56ff:fe01:1"}},
		{Network: clone("VM Network storage"), DeviceConfigId: 4001, IpAddress: []string{fmt.Sprintf("172.16.%d.%d", i>>8&255, i&255)}},
	}
	for n := range 4 {
		nics = append(nics, types.GuestNicInfo{DeviceConfigId: -1, IpAddress: []string{fmt.Sprintf("192.168.%d.1", n), "fe80::1"}})
	}
	metadata := fmt.Sprintf("instance-id: %s\nlocal-hostname: %s\nnetwork:\n  version: 2\n  ethernets:\n    id0:\n      addresses: [%s/16]\n# %s\n",
		name, name, ip, strings.Repeat("x", 900))
	ref := func(r types.ManagedObjectReference) types.ManagedObjectReference {
		return types.ManagedObjectReference{Type: clone(r.Type), Value: clone(r.Value)}
	}
	return vcenter.Update{
		Kind: vcenter.Enter,
		Ref:  types.ManagedObjectReference{Type: clone("VirtualMachine"), Value: fmt.Sprint("vm-", 100000+i)},
		Changes: []types.PropertyChange{
			{Name: "name", Val: name},
			{Name: "parent", Val: ref(folder)},
			{Name: "resourcePool", Val: ref(pool)},
			{Name: "runtime.host", Val: ref(host)},
			{Name: "guest.hostName", Val: name + ".cluster.example.org"},
			{Name: "guest.net", Val: types.ArrayOfGuestNicInfo{GuestNicInfo: nics}},
			{Name: "summary.config.uuid", Val: crowdUUID(i).String()},
			{Name: "summary.config.instanceUuid", Val: crowdUUID(i + crowd).String()},
			{Name: "summary.config.guestId", Val: clone("ubuntu64Guest")},
			{Name: "summary.config.numCpu", Val: int32(8)},
			{Name: "summary.config.memorySizeMB", Val: int32(32768)},
			{Name: "summary.config.template", Val: false},
			{Name: "runtime.powerState", Val: types.VirtualMachinePowerState(clone("poweredOn"))},
			{Name: "runtime.connectionState", Val: types.VirtualMachineConnectionState(clone("connected"))},
			{Name: `config.extraConfig["guestinfo.metadata"]`, Val: types.OptionValue{Value: base64.StdEncoding.EncodeToString([]byte(metadata))}},
			{Name: `config.extraConfig["guestinfo.metadata.encoding"]`, Val: types.OptionValue{Value: clone("base64")}},
		},
	}
}

func crowdUUID(i int) match.UUID {
	return match.UUID{0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, byte(i >> 16), byte(i >> 8), byte(i)}
}

// crowded returns two vCenters in sync, with the crowd in one.
func crowded(b *testing.B, datacenters ...string) *world {
	b.Helper()
	w := start(b, func(_ *world, cfg *inventory.Config) { cfg.VCenters[0].Datacenters = datacenters })
	w.synced(b)
	vm, err := w.ByHostName("w1").One()
	if err != nil {
		b.Fatal(err)
	}
	batch := make([]vcenter.Update, crowd)
	for i := range batch {
		batch[i] = guestVM(i, vm.Parent, vm.Host, vm.ResourcePool)
	}
	w.Feed("us", batch...)
	return w
}

func BenchmarkLookup(b *testing.B) {
	for _, bc := range []struct {
		name        string
		datacenters []string
	}{
		{"two vcenters", nil},
		{"two vcenters and datacenters", []string{"/americas/west", "east"}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			w := crowded(b, bc.datacenters...)
			ip := netip.MustParseAddr("10.20.19.136") // number 5000
			for _, l := range []struct {
				name string
				find func() inventory.Result
			}{
				{"uuid", func() inventory.Result { return w.ByUUID(crowdUUID(5000)) }},
				{"uuid swapped", func() inventory.Result { return w.ByUUID(crowdUUID(5000).Swapped()) }},
				{"full hostname", func() inventory.Result { return w.ByHostName("worker-05000.cluster.example.org") }},
				{"short hostname", func() inventory.Result { return w.ByHostName("worker-05000") }},
				{"ip", func() inventory.Result { return w.ByIP(ip) }},
			} {
				b.Run(l.name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if r := l.find(); len(r.VMs) != 1 || r.Doubt != nil {
							b.Fatalf("got %v", r)
						}
					}
				})
			}
			b.Run("none", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if r := w.ByHostName("nobody"); len(r.VMs) != 0 || r.Doubt != nil {
						b.Fatalf("got %v", r)
					}
				}
			})
		})
	}
}

// Concurrent lookups while VMs change all the time.
func BenchmarkLookupWhileChanging(b *testing.B) {
	w := crowded(b)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				w.Feed("us", vcenter.Update{
					Kind: vcenter.Modify, Ref: types.ManagedObjectReference{Type: "VirtualMachine", Value: fmt.Sprint("vm-", 100000+i%crowd)},
					Changes: []types.PropertyChange{{Name: "summary.config.numCpu", Val: int32(i)}},
				})
			}
		}
	}()
	b.ReportAllocs()
	b.SetParallelism(16)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			if r := w.ByUUID(crowdUUID(i % crowd)); len(r.VMs) != 1 {
				b.Error("not found")
				return
			}
		}
	})
	b.StopTimer()
	close(stop)
	<-done
}

func BenchmarkZone(b *testing.B) {
	w := crowded(b)
	vm, err := w.ByUUID(crowdUUID(5000)).One()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if z, err := w.Zone(vm); err != nil || z.Zone != "us-west" {
			b.Fatal(z, err)
		}
	}
}
