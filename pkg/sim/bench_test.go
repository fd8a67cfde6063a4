package sim_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/vmware/govmomi/object"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

func large(vms int) string {
	return fmt.Sprintf(`
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: large}
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          zone: z
          clusters: [{name: c, hosts: [{name: "host-{n}", replicas: 8}]}]
          vms: [{name: "vm-{nnnnn}", replicas: %d, cluster: c}]
`, vms)
}

// BenchmarkStart builds a vCenter and serves it. Its end is not measured.
func BenchmarkStart(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			top, ca := load(b, large(n)), authority(b)
			for b.Loop() {
				s, err := sim.New(b.Context(), sim.Options{Topology: top, CA: ca, Dir: b.TempDir(), Addresses: []string{"127.0.0.1:0"}})
				b.StopTimer()
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Close(context.WithoutCancel(b.Context())); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/VM")
		})
	}
}

// BenchmarkFindByUUID finds one VM of a thousand, over TLS.
func BenchmarkFindByUUID(b *testing.B) {
	s := start(b, large(1000), nil)
	c := s.login(b, s.vcenter(b, "vc"))
	uuid := load(b, large(1000)).Spec.VCenters[0].Datacenters[0].VMs[500].UUID
	index := object.NewSearchIndex(c.Client)
	for b.Loop() {
		if r, err := index.FindByUuid(b.Context(), nil, uuid, true, nil); err != nil || r == nil {
			b.Fatalf("%v, %v", r, err)
		}
	}
}
