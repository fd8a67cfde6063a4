package inventory_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
)

// BenchmarkBuild builds a vCenter, files included, in the directory for temporary files. kB/VM is what it holds in memory
// afterwards, sys-kB/VM what the process has taken from the system for it. 10,000 VMs only without -short.
func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		if n > 1000 && testing.Short() {
			continue
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			spec := parse(b, fmt.Sprintf(`
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          zone: z
          clusters: [{name: c, hosts: [{name: "host-{n}", replicas: 8}]}]
          vms: [{name: "vm-{nnnnn}", replicas: %d, cluster: c}]
`, n))
			before := memory()
			for b.Loop() {
				b.StopTimer()
				dir, err := os.MkdirTemp(b.TempDir(), "") // one for each round
				if err != nil {
					b.Fatal(err)
				}
				_, target, _ := empty(dir, "")
				b.StartTimer()
				built, err := inventory.Make(b.Context(), target, &spec.VCenters[0], spec)
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				after := memory()
				b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(n)/1000, "kB/VM")
				b.ReportMetric(float64(after.Sys-before.Sys)/float64(n)/1000, "sys-kB/VM")
				runtime.KeepAlive(target.Context)
				runtime.KeepAlive(built)
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/VM")
		})
	}
}

func memory() (m runtime.MemStats) {
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}
