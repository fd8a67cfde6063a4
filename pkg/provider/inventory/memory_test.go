package inventory_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

// memoryPerVM is how much of the heap the index takes for each VM of a crowd of Kubernetes nodes.
func memoryPerVM(t testing.TB) uint64 {
	t.Helper()
	ref := func(kind, value string) types.ManagedObjectReference {
		return types.ManagedObjectReference{Type: kind, Value: value}
	}
	inv := inventory.Offline(t)
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range crowd { // one by one, because garbage does not count
		inv.Feed("vc", guestVM(i, ref("Folder", fmt.Sprint("group-v", i%50)), ref("HostSystem", fmt.Sprint("host-", i%300)), ref("ResourcePool", fmt.Sprint("resgroup-", i%20))))
	}
	inv.Sync("vc")
	after := heap()
	if vms := inv.Status()[0].VMs; vms != crowd {
		t.Fatalf("%d VMs", vms)
	}
	runtime.KeepAlive(inv)
	return (after - before) / crowd
}

func TestMemory(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector takes memory of its own")
	}
	if n := memoryPerVM(t); n > 4<<10 {
		t.Errorf("%d bytes per VM", n)
	}
}

func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(float64(memoryPerVM(b)), "B/vm")
	}
}
