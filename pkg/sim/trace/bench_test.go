package trace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/trace"
)

// BenchmarkCalls is a client that reads two VMs, with and without a trace. The recorder's own goroutine is part of it.
func BenchmarkCalls(b *testing.B) {
	lab := sim.Start(b, small)
	v := lab.VCenters()[0]
	c := lab.Client("vc")
	m, err := view.NewManager(c.Client).CreateContainerView(b.Context(), c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		b.Fatal(err)
	}
	for _, on := range []bool{false, true} {
		name := map[bool]string{false: "off", true: "on"}[on]
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			file, err := os.Create(filepath.Join(b.TempDir(), "trace"))
			if err != nil {
				b.Fatal(err)
			}
			defer file.Close()
			r := trace.NewRecorder(file)
			if on {
				r.Attach("vc", v.Gate())
			}
			var vms []mo.VirtualMachine
			for b.Loop() {
				vms = nil
				if err := m.Retrieve(b.Context(), []string{"VirtualMachine"}, []string{"name", "runtime", "guest"}, &vms); err != nil {
					b.Fatal(err)
				}
			}
			if err := r.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
