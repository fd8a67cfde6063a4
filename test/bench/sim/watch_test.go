package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/errgroup"
)

const (
	watchers  = 5
	burstSize = 50
	callers   = 5 // clients that make a burst
	rounds    = 5 // of which the median counts
)

// watched is what changes whenever a VM is reconfigured.
const watched = "config.changeVersion"

// watch is one client that follows all VMs.
type watch struct {
	client  *vim25.Client
	pc      *property.Collector
	version string
	vms     []types.ManagedObjectReference
}

// watches measures how long a watch takes to begin, and to see changes.
func watches(ctx context.Context, v *vcenter, note func(string, float64)) error {
	var all []*watch
	var begins []float64
	for range watchers {
		begin := time.Now()
		w, err := v.watch(ctx)
		if err != nil {
			return err
		}
		begins = append(begins, time.Since(begin).Seconds())
		all = append(all, w)
	}
	note(sync, percentile(begins, 50))
	for _, size := range []struct {
		name string
		vms  int
	}{{change, 1}, {burst, burstSize}} {
		var times []float64
		for range rounds {
			took, err := v.reconfigure(ctx, all, min(size.vms, len(all[0].vms)))
			if errors.Is(err, context.DeadlineExceeded) {
				note(size.name, -1)
				return nil // a slow client has not finished yet
			}
			if err != nil {
				return err
			}
			times = append(times, took.Seconds())
			if took > 2*time.Second {
				break // once says enough
			}
		}
		note(size.name, percentile(times, 50))
	}
	return nil
}

// watch logs in, retrieves all VMs, and returns when it has them. It creates a property collector: stock vcsim serves one
// session at a time on the default one.
func (v *vcenter) watch(ctx context.Context) (*watch, error) {
	c, err := v.login(ctx)
	if err != nil {
		return nil, err
	}
	cv, err := view.NewManager(c).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		return nil, err
	}
	pc, err := property.DefaultCollector(c).Create(ctx)
	if err != nil {
		return nil, err
	}
	f := new(property.WaitFilter).Add(cv.Reference(), "VirtualMachine", []string{"name", "runtime.powerState", watched}, cv.TraversalSpec())
	if _, err := pc.CreateFilter(ctx, f.CreateFilter); err != nil {
		return nil, err
	}
	w := &watch{client: c, pc: pc}
	for {
		more, err := w.next(ctx, func(u types.ObjectUpdate) { w.vms = append(w.vms, u.Obj) })
		if err != nil {
			return nil, err
		}
		if !more {
			return w, nil
		}
	}
}

// next reads the next updates, and reports whether there are more at once.
func (w *watch) next(ctx context.Context, f func(types.ObjectUpdate)) (more bool, err error) {
	res, err := w.pc.WaitForUpdates(ctx, w.version)
	if err != nil {
		return false, err
	}
	if res == nil {
		return false, nil
	}
	w.version = res.Version
	for _, set := range res.FilterSet {
		for _, u := range set.ObjectSet {
			f(u)
		}
	}
	return res.Truncated != nil && *res.Truncated, nil
}

// reconfigure changes the first n VMs and returns how long it took until every watch has seen all of it.
func (v *vcenter) reconfigure(ctx context.Context, all []*watch, n int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	vms := all[0].vms[:n]
	g, ctx := errgroup.WithContext(ctx)
	for _, w := range all {
		g.Go(func() error { return w.follow(ctx, vms) })
	}
	time.Sleep(100 * time.Millisecond) // all wait
	begin := time.Now()
	note := fmt.Sprint(begin.UnixNano() % math.MaxInt32)
	for i := range min(callers, n) {
		g.Go(func() error {
			for j := i; j < n; j += callers {
				if _, err := object.NewVirtualMachine(all[i].client, vms[j]).Reconfigure(ctx, types.VirtualMachineConfigSpec{Annotation: note}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := g.Wait()
	return time.Since(begin), err
}

// follow reads updates until there was one of each VM.
func (w *watch) follow(ctx context.Context, vms []types.ManagedObjectReference) error {
	missing := make(map[types.ManagedObjectReference]bool, len(vms))
	for _, vm := range vms {
		missing[vm] = true
	}
	for len(missing) > 0 {
		if _, err := w.next(ctx, func(u types.ObjectUpdate) { delete(missing, u.Obj) }); err != nil {
			return err
		}
	}
	return nil
}
