package property_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/types"
)

// The benchmarks run the same with vcsim's own collector ("stock") and with
// ours, over TLS, and leave out what takes stock minutes; with -short, also what
// takes us seconds.
//
//	go test -run '^$' -bench . -benchtime 3x ./pkg/sim/property

// against runs a benchmark with and without our collector.
func against(b *testing.B, vms, stockUpTo int, run func(b *testing.B, v *vcenter)) {
	for _, ours := range []bool{false, true} {
		if !ours && vms > stockUpTo || testing.Short() && vms > 1000 {
			continue
		}
		name := map[bool]string{false: "stock", true: "ours"}[ours]
		b.Run(fmt.Sprintf("vms=%d/%s", vms, name), func(b *testing.B) { run(b, newBig(b, ours, vms)) })
	}
}

// BenchmarkChange measures how long it takes until every watcher of a container
// view has seen a change, or a burst of 50.
func BenchmarkChange(b *testing.B) {
	for _, size := range []struct{ vms, watchers, burst, stockUpTo int }{
		{1000, 1, 1, 1000},
		{1000, 5, 1, 1000},
		{1000, 5, 50, 0},
		{200, 5, 50, 200}, // as much as stock can stand
		{10000, 5, 1, 0},
		{10000, 5, 50, 0},
	} {
		b.Run(fmt.Sprintf("watchers=%d/burst=%d", size.watchers, size.burst), func(b *testing.B) {
			against(b, size.vms, size.stockUpTo, func(b *testing.B, v *vcenter) {
				fleet := newFleet(b, v, size.watchers)
				for b.Loop() {
					fleet.change(b, size.burst)
				}
				b.StopTimer()
				fleet.stop()
			})
		})
	}
}

// BenchmarkSync measures the first synchronization of a watcher, login
// included.
func BenchmarkSync(b *testing.B) {
	for _, vms := range []int{1000, 10000} {
		against(b, vms, 10000, func(b *testing.B, v *vcenter) {
			for b.Loop() {
				newFleet(b, v, 1).stop()
			}
		})
	}
}

// BenchmarkCreate measures the creation of VMs under five idle container views, and under five that are watched, with lists that
// vcsim changes without notice, which stock vcsim does not survive.
func BenchmarkCreate(b *testing.B) {
	for _, vms := range []int{1000, 10000} {
		for _, watched := range []bool{false, true} {
			b.Run(fmt.Sprintf("watched=%v", watched), func(b *testing.B) {
				for _, ours := range []bool{false, true} {
					if !ours && (watched || vms > 1000) || testing.Short() && vms > 1000 {
						continue
					}
					b.Run(fmt.Sprintf("vms=%d/%s", vms, map[bool]string{false: "stock", true: "ours"}[ours]), func(b *testing.B) {
						for b.Loop() {
							b.StopTimer()
							v := newBig(b, ours, 0)
							seen := watchCreation(b, v, 5, vms, watched)
							b.StartTimer()
							v.grow(b, vms)
							seen()
						}
						b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*vms), "µs/VM")
					})
				}
			})
		}
	}
}

// watchCreation makes container views, watched or not, and returns what waits
// until each watcher saw so many VMs.
func watchCreation(b *testing.B, v *vcenter, views, vms int, watched bool) (seen func()) {
	done := make(chan error, views)
	for range views {
		c := v.login(b)
		cv, err := view.NewManager(c).CreateContainerView(b.Context(), c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
		if err != nil {
			b.Fatal(err)
		}
		if !watched {
			done <- nil
			continue
		}
		w := newWatch(b, own(b, c), viewSpec(cv.Reference(), "VirtualMachine", "name", "runtime.powerState", "datastore", "parent"))
		go func() {
			entered := make(map[types.ManagedObjectReference]struct{})
			for len(entered) < vms {
				set, err := w.pc.WaitForUpdates(b.Context(), w.version)
				if err != nil {
					done <- err
					return
				}
				if set == nil {
					continue
				}
				w.version = set.Version
				for _, fs := range set.FilterSet {
					for _, u := range fs.ObjectSet {
						entered[u.Obj] = struct{}{}
					}
				}
			}
			done <- nil
		}()
	}
	return func() {
		for range views {
			if err := <-done; err != nil {
				b.Fatal(err)
			}
		}
	}
}

// fleet is a number of watchers, each with its own session.
type fleet struct {
	b       testing.TB
	v       *vcenter
	vms     []types.ManagedObjectReference
	watches []*watch
	epoch   int32
}

const epochPath = "summary.quickStats.overallCpuUsage"

func newFleet(b testing.TB, v *vcenter, watchers int) *fleet {
	b.Helper()
	f := &fleet{b: b, v: v, vms: v.vms()}
	for range watchers {
		c := v.login(b)
		cv, err := view.NewManager(c).CreateContainerView(b.Context(), c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
		if err != nil {
			b.Fatal(err)
		}
		w := newWatch(b, own(b, c), viewSpec(cv.Reference(), "VirtualMachine", "name", "runtime.powerState", epochPath))
		for n := 0; n < len(f.vms); {
			set, err := w.pc.WaitForUpdates(b.Context(), w.version)
			if err != nil {
				b.Fatal(err)
			}
			w.version = set.Version
			for _, fs := range set.FilterSet {
				n += len(fs.ObjectSet)
			}
		}
		f.watches = append(f.watches, w)
	}
	return f
}

// change changes some VMs and returns when every watcher saw all of it. The
// watchers have been waiting for a while when it begins.
func (f *fleet) change(b *testing.B, burst int) {
	b.StopTimer()
	f.epoch = (f.epoch + 1) % math.MaxInt32
	done := make(chan error, len(f.watches))
	for _, w := range f.watches {
		go func() { done <- f.follow(w, burst, f.epoch) }()
	}
	time.Sleep(20 * time.Millisecond)
	b.StartTimer()
	for _, vm := range f.vms[:burst] {
		f.v.set(vm, change(epochPath, f.epoch))
	}
	for range f.watches {
		if err := <-done; err != nil {
			f.b.Fatal(err)
		}
	}
}

// follow reads updates until the last value of every changed VM was seen.
func (f *fleet) follow(w *watch, burst int, epoch int32) error {
	missing := make(map[types.ManagedObjectReference]bool, burst)
	for _, vm := range f.vms[:burst] {
		missing[vm] = true
	}
	for len(missing) != 0 {
		set, err := w.pc.WaitForUpdates(f.b.Context(), w.version)
		if err != nil {
			return err
		}
		if set == nil {
			continue
		}
		w.version = set.Version
		for _, fs := range set.FilterSet {
			for _, u := range fs.ObjectSet {
				for _, ch := range u.ChangeSet {
					if ch.Name == epochPath && ch.Val == epoch {
						delete(missing, u.Obj)
					}
				}
			}
		}
	}
	return nil
}

func (f *fleet) stop() {
	for _, w := range f.watches {
		if err := w.pc.Destroy(f.b.Context()); err != nil {
			f.b.Fatal(err)
		}
	}
}
