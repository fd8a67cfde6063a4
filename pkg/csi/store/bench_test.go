package store_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// BenchmarkAttach measures an attachment and a detachment over TLS, sequentially and concurrently; calls/op are the vCenter calls of
// both.
func BenchmarkAttach(b *testing.B) {
	for _, parallel := range []int{1, 16} {
		b.Run(fmt.Sprintf("%d at once", parallel), func(b *testing.B) {
			r := start(b, one)
			n := r.node("us", "vm-1")
			var volumes []volume.Volume
			spec := r.spec("us", "")
			for i := range 2 * parallel * 2 {
				spec.Name, spec.Capacity = fmt.Sprintf("pvc-%d", i), 1<<20
				v, err := r.Create(b.Context(), spec)
				r.must(err)
				volumes = append(volumes, v)
			}
			var next atomic.Int64
			before := r.calls("us")
			b.SetParallelism(max(parallel/2, 1))
			b.ResetTimer()
			run := func() {
				v := volumes[int(next.Add(1))%len(volumes)]
				if _, err := r.Attach(b.Context(), v.ID, n); err != nil {
					b.Error(err)
				}
				if err := r.Detach(b.Context(), v.ID, n); err != nil {
					b.Error(err)
				}
			}
			if parallel == 1 {
				for b.Loop() {
					run()
				}
			} else {
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						run()
					}
				})
			}
			b.StopTimer()
			calls, _ := r.since("us", before)
			b.ReportMetric(float64(calls)/float64(b.N), "calls/op")
		})
	}
}
