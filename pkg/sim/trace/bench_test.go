package trace_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/trace"
)

// BenchmarkCalls is a client that reads two VMs, with and without a trace. The recorder's own goroutine is part of it. Ratio has both
// in turn, so that the load of the machine is the same for both, and reports the time, and that of processors, with a trace as a part
// of that without.
func BenchmarkCalls(b *testing.B) {
	lab := sim.Start(b, small)
	v := lab.VCenters()[0]
	c := lab.Client("vc")
	m, err := view.NewManager(c.Client).CreateContainerView(b.Context(), c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		b.Fatal(err)
	}
	read := func(b *testing.B) {
		var vms []mo.VirtualMachine
		if err := m.Retrieve(b.Context(), []string{"VirtualMachine"}, []string{"name", "runtime", "guest"}, &vms); err != nil {
			b.Fatal(err)
		}
	}
	// begin starts a trace into a file, which end ends.
	begin := func(b *testing.B) (end func()) {
		file, err := os.Create(filepath.Join(b.TempDir(), "trace"))
		if err != nil {
			b.Fatal(err)
		}
		r := trace.NewRecorder(file)
		r.Attach("vc", v.Gate())
		return func() {
			if err := r.Close(); err != nil {
				b.Fatal(err)
			}
			_ = file.Close()
		}
	}
	b.Run("off", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			read(b)
		}
	})
	b.Run("on", func(b *testing.B) {
		b.ReportAllocs()
		end := begin(b)
		for b.Loop() {
			read(b)
		}
		end()
	})
	b.Run("ratio", func(b *testing.B) {
		const turn = 200 // calls
		var took, used [2]time.Duration
		for b.Loop() {
			for on := range took {
				end := func() {}
				if on == 1 {
					end = begin(b)
				}
				started, before := time.Now(), processors(b)
				for range turn {
					read(b)
				}
				end() // what is left to be written counts
				took[on] += time.Since(started)
				used[on] += processors(b) - before
			}
		}
		b.ReportMetric(100*float64(took[1])/float64(took[0]), "%time")
		b.ReportMetric(100*float64(used[1])/float64(used[0]), "%cpu")
	})
}

// processors returns the time of processors that the process has used.
func processors(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
