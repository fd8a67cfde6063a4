package sim_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// TestStorm does everything at once for two seconds: power, moves, resets, creation, searches, watches. It fails when
// something stalls, and it is there for the race detector.
func TestStorm(t *testing.T) {
	s := start(t, zones, func(o *sim.Options) { o.BootDelay = time.Millisecond })
	v := s.vcenter(t, "vc-us")
	end := time.Now().Add(2 * time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	loop := func(f func() error) {
		wg.Go(func() {
			for time.Now().Before(end) {
				if err := f(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	// Of two operations on one VM at a time one is refused now and then; only a stall is a failure.
	done := func(task *object.Task, err error) error {
		if err == nil {
			err = task.Wait(ctx)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return nil
	}

	for _, path := range []string{"/americas/dcwest/vm/k8s/worker-1", "/americas/dcwest/vm/k8s/worker-2"} {
		c := s.login(t, v)
		m := vm(t, c, path)
		hosts := []types.ManagedObjectReference{ref(t, c, "/americas/dcwest/host/c1/west-1"), ref(t, c, "/americas/dcwest/host/c1/west-2")}
		loop(func() error { return done(m.PowerOff(ctx)) })
		loop(func() error { return done(m.PowerOn(ctx)) })
		loop(func() error { return done(m.Reset(ctx)) })
		n := 0
		loop(func() error {
			n++
			return done(m.Relocate(ctx, types.VirtualMachineRelocateSpec{Host: &hosts[n%2]}, ""))
		})
	}

	c := s.login(t, v)
	folders, err := object.NewDatacenter(c.Client, ref(t, c, "/americas/dceast")).Folders(ctx)
	if err != nil {
		t.Fatal(err)
	}
	pool := object.NewResourcePool(c.Client, ref(t, c, "/americas/dceast/host/east-1/Resources"))
	host := object.NewHostSystem(c.Client, ref(t, c, "/americas/dceast/host/east-1/east-1"))
	loop(func() error {
		create, err := folders.VmFolder.CreateVM(ctx, types.VirtualMachineConfigSpec{
			Name: "made", Files: &types.VirtualMachineFileInfo{VmPathName: "[dceast-ds]"},
		}, pool, host)
		if err != nil {
			return err
		}
		info, err := create.WaitForResult(ctx)
		if err != nil {
			return err
		}
		return done(object.NewVirtualMachine(c.Client, info.Result.(types.ManagedObjectReference)).Destroy(ctx))
	})

	searcher := s.login(t, v)
	index := object.NewSearchIndex(searcher.Client)
	loop(func() error {
		_, err := index.FindAllByDnsName(ctx, nil, "worker-1", true)
		return err
	})

	watch, stop := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	for range 3 {
		w := s.login(t, v)
		cv, err := view.NewManager(w.Client).CreateContainerView(ctx, w.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
		if err != nil {
			t.Fatal(err)
		}
		watchers.Go(func() {
			filter := new(property.WaitFilter).Add(cv.Reference(), "VirtualMachine", []string{"name", "runtime", "guest", "parent"}, cv.TraversalSpec())
			err := property.WaitForUpdates(watch, property.DefaultCollector(w.Client), filter, func([]types.ObjectUpdate) bool { return false })
			if watch.Err() == nil {
				t.Errorf("a watch ended: %v", err)
			}
		})
	}
	wg.Wait()
	stop()
	watchers.Wait()
}
