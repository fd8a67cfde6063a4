package sandbox

import (
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// BenchmarkInject is the time from a request to a VM that its vCenter has powered off, and back: the bound is 50 ms.
func BenchmarkInject(b *testing.B) {
	_, c := withFaults(b)
	var inject, heal, slowest time.Duration
	for b.Loop() {
		begin := time.Now()
		lease, err := c.Inject(b.Context(), api.InjectRequest{Fault: "vm.power-off", On: api.Selector{Names: []string{"worker-east-1"}}})
		if err != nil {
			b.Fatal(err)
		}
		took := time.Since(begin)
		inject += took
		slowest = max(slowest, took)
		begin = time.Now()
		if _, err := c.Heal(b.Context(), api.HealRequest{IDs: []string{lease.ID}}); err != nil {
			b.Fatal(err)
		}
		heal += time.Since(begin)
	}
	n := time.Duration(b.N)
	b.ReportMetric(float64((inject/n).Microseconds())/1000, "inject-ms")
	b.ReportMetric(float64(slowest.Microseconds())/1000, "slowest-ms")
	b.ReportMetric(float64((heal/n).Microseconds())/1000, "heal-ms")
}
