package property_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	pc "github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/property"
)

// BenchmarkChange measures how long it takes until every watcher of a container
// view of 1,000 VMs has seen a change, or a burst of 50, over HTTP, with
// vcsim's own collector and with ours.
//
//	go test -run '^$' -bench Change -benchtime 5x ./pkg/sim/property
func BenchmarkChange(b *testing.B) {
	for _, ours := range []bool{false, true} {
		name := map[bool]string{false: "stock", true: "ours"}[ours]
		b.Run(name, func(b *testing.B) {
			v := newVCenter(b, ours, property.Options{}, func(m *simulator.Model) {
				m.Autostart = false // half the time to build
				m.Host, m.Cluster, m.ClusterHost = 0, 1, 3
				m.Machine = 1000
			})
			for _, watchers := range []int{1, 5} {
				fleet := newFleet(b, v, watchers)
				for _, burst := range []int{1, 50} {
					b.Run(fmt.Sprintf("watchers=%d/burst=%d", watchers, burst), func(b *testing.B) {
						for b.Loop() {
							fleet.change(b, burst)
						}
					})
				}
				fleet.stop()
			}
		})
	}
}

// BenchmarkSync measures the first synchronization of a watcher with 1,000 VMs.
func BenchmarkSync(b *testing.B) {
	for _, ours := range []bool{false, true} {
		b.Run(map[bool]string{false: "stock", true: "ours"}[ours], func(b *testing.B) {
			v := newVCenter(b, ours, property.Options{}, func(m *simulator.Model) {
				m.Autostart = false
				m.Host, m.Cluster, m.ClusterHost = 0, 1, 3
				m.Machine = 1000
			})
			for b.Loop() {
				newFleet(b, v, 1).stop()
			}
		})
	}
}

// fleet is a number of watchers in sessions of their own.
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
		own, err := pc.DefaultCollector(c).Create(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		w := newWatch(b, own, viewSpec(cv.Reference(), "VirtualMachine", "name", "runtime.powerState", epochPath))
		for n := 0; n < len(f.vms); {
			for _, fs := range w.next().FilterSet {
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
	time.Sleep(10 * time.Millisecond)
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
