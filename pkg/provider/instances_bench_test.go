package provider

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

// The cost of a node beside the lookup of its VM.
func BenchmarkMetadata(b *testing.B) {
	x := &listIndex{vms: []*inventory.VM{vmOf(b, "one", u1, "n1", "192.0.2.1")}, zone: inventory.Zone{Region: "r", Zone: "z"}}
	i, n := x.over(""), node("n1", "vsphere://"+u1, u1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := i.metadata(n); err != nil {
			b.Fatal(err)
		}
	}
}
