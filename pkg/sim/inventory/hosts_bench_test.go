package inventory_test

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
)

// BenchmarkHosts builds a vCenter of 200 hosts in four clusters.
func BenchmarkHosts(b *testing.B) {
	spec := parse(b, `
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          clusters:
            - {name: a, hosts: [{name: "a-{n}", replicas: 50}]}
            - {name: b, hosts: [{name: "b-{n}", replicas: 50}]}
            - {name: c, hosts: [{name: "c-{n}", replicas: 50}]}
            - {name: d, hosts: [{name: "d-{n}", replicas: 50}]}
`)
	for b.Loop() {
		_, target, _ := empty(b.TempDir(), "")
		if _, err := inventory.Make(b.Context(), target, &spec.VCenters[0], spec); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*200), "µs/host")
}
