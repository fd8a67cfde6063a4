package soak

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/types"
)

// watch follows all VMs through a container view on the session's default collector, for some hundred answers.
func watch(ctx context.Context, k *worker) error {
	for !k.done() {
		cv, err := view.NewManager(k.client).CreateContainerView(ctx, k.client.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
		if err != nil {
			return err
		}
		pc := property.DefaultCollector(k.client)
		f := new(property.WaitFilter).Add(cv.Reference(), "VirtualMachine", []string{"name", "runtime.powerState", "runtime.host", "guest.net", "summary.runtime.powerState"}, cv.TraversalSpec())
		filter, err := pc.CreateFilter(ctx, f.CreateFilter)
		if err != nil {
			return err
		}
		known := make(map[types.ManagedObjectReference]bool)
		version := ""
		for range 200 {
			if k.done() {
				break
			}
			set, err := pc.WaitForUpdates(ctx, version, wait(1))
			if err != nil {
				return k.over("WaitForUpdatesEx", err)
			}
			if set == nil {
				continue
			}
			version = set.Version
			for _, u := range updates(set) {
				k.m.begin("op.Update", 0)()
				switch {
				case u.Kind == types.ObjectUpdateKindEnter && known[u.Obj]:
					return fmt.Errorf("%s entered twice", u.Obj)
				case u.Kind == types.ObjectUpdateKindModify && !known[u.Obj]:
					return fmt.Errorf("%s changed before it entered", u.Obj)
				case u.Kind == types.ObjectUpdateKindEnter:
					known[u.Obj] = true
				case u.Kind == types.ObjectUpdateKindLeave:
					delete(known, u.Obj)
				}
			}
		}
		if err := filter.Destroy(ctx); err != nil {
			return k.over("DestroyPropertyFilter", err)
		}
		if err := cv.Destroy(ctx); err != nil {
			return k.over("DestroyView", err)
		}
	}
	return nil
}

// listView does what the CSI driver does: tasks are put into a list view under a waiting filter, and taken out again
// when they have ended.
func listView(ctx context.Context, k *worker) error {
	lv, err := view.NewManager(k.client).CreateListView(ctx, nil)
	if err != nil {
		return err
	}
	pc, err := property.DefaultCollector(k.client).Create(ctx)
	if err != nil {
		return err
	}
	f := new(property.WaitFilter).Add(lv.Reference(), "Task", []string{"info"}, lv.TraversalSpec())
	if _, err := pc.CreateFilter(ctx, f.CreateFilter); err != nil {
		return err
	}
	ended := make(chan types.ManagedObjectReference, 1000)
	failed := make(chan error, 1)
	waiting, stop := context.WithCancel(ctx)
	go func() { failed <- followTasks(waiting, pc, ended) }()
	defer func() { // the follower ends before the session does
		if stop != nil {
			stop()
			<-failed
		}
	}()
	for !k.done() {
		vm := k.vm()
		end := k.m.begin("op.ListView", 0)
		t, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{Annotation: fmt.Sprint(time.Now().UnixNano())})
		if err == nil {
			_, err = lv.Add(ctx, []types.ManagedObjectReference{t.Reference()})
		}
		if err == nil {
			err = k.await(ended, failed, t)
		}
		if err == nil {
			_, err = lv.Remove(ctx, []types.ManagedObjectReference{t.Reference()})
		}
		end()
		k.m.begin("op.Reconfigure", 0)()
		if err != nil {
			if name, expected := faultName(err); !expected || name != "InvalidState" {
				return err
			}
		}
	}
	return nil
}

// await waits for the end of a task.
func (k *worker) await(ended <-chan types.ManagedObjectReference, failed chan error, t *object.Task) error {
	for {
		select {
		case ref := <-ended:
			if ref == t.Reference() {
				return nil
			}
		case err := <-failed:
			failed <- err // for the reader of the follower
			return err
		}
	}
}

// followTasks sends tasks that have ended, until it fails.
func followTasks(ctx context.Context, pc *property.Collector, ended chan<- types.ManagedObjectReference) error {
	version := ""
	for {
		set, err := pc.WaitForUpdates(ctx, version, wait(1))
		if err != nil {
			return err
		}
		if set == nil {
			continue
		}
		version = set.Version
		for _, u := range updates(set) {
			for _, c := range u.ChangeSet {
				info, ok := c.Val.(types.TaskInfo)
				if ok && (info.State == types.TaskInfoStateSuccess || info.State == types.TaskInfoStateError) {
					select {
					case ended <- u.Obj:
					case <-ctx.Done():
						return ctx.Err()
					}
				}
			}
		}
	}
}

// wait bounds a wait for updates.
func wait(seconds int32) *types.WaitOptions { return &types.WaitOptions{MaxWaitSeconds: &seconds} }

func updates(set *types.UpdateSet) (all []types.ObjectUpdate) {
	for _, f := range set.FilterSet {
		all = append(all, f.ObjectSet...)
	}
	return all
}
