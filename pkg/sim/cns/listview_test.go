package cns_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// taskWatch waits for tasks as upstream's driver does (pkg/common/cns-lib/volume/listview.go): one list view for all of
// them, into which tasks are put as they are made and taken out of as they end, under one collector that always waits.
type taskWatch struct {
	view *view.ListView

	mu    sync.Mutex
	ended map[vc.Ref]chan types.TaskInfo
}

// watchTasks watches until the test is over.
func watchTasks(t *testing.T, s *server) *taskWatch {
	t.Helper()
	c, _ := s.client(t)
	v, err := view.NewManager(c).CreateListView(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &taskWatch{view: v, ended: make(map[vc.Ref]chan types.TaskInfo)}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		filter := new(property.WaitFilter)
		filter.Spec = types.PropertyFilterSpec{
			ObjectSet: []types.ObjectSpec{{
				Obj: v.Reference(), Skip: new(true),
				SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "ListView", Path: "view"}},
			}},
			PropSet: []types.PropertySpec{{Type: "Task", PathSet: []string{"info"}}},
		}
		err := property.WaitForUpdatesEx(ctx, property.DefaultCollector(c), filter, func(updates []types.ObjectUpdate) bool {
			for _, u := range updates {
				for _, change := range u.ChangeSet {
					if info, ok := change.Val.(types.TaskInfo); ok {
						w.note(u.Obj, info)
					}
				}
			}
			return false
		})
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return w
}

func (w *taskWatch) note(task vc.Ref, info types.TaskInfo) {
	if info.State != types.TaskInfoStateSuccess && info.State != types.TaskInfoStateError {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if c, waits := w.ended[task]; waits {
		c <- info
		delete(w.ended, task)
	}
}

// wait returns how a task ended, which may have ended before it is watched.
func (w *taskWatch) wait(ctx context.Context, task *object.Task) (types.TaskInfo, error) {
	c := make(chan types.TaskInfo, 1)
	w.mu.Lock()
	w.ended[task.Reference()] = c
	w.mu.Unlock()
	if _, err := w.view.Add(ctx, []types.ManagedObjectReference{task.Reference()}); err != nil {
		return types.TaskInfo{}, err
	}
	select {
	case info := <-c:
		_, err := w.view.Remove(ctx, []types.ManagedObjectReference{task.Reference()})
		return info, err
	case <-ctx.Done():
		return types.TaskInfo{}, fmt.Errorf("%s: %w", task.Reference().Value, ctx.Err())
	}
}

// TestListView attaches and detaches by many at once, all of whom wait in one list view. With vcsim's own collector the
// vCenter stands still when a view changes while the collector looks at it.
func TestListView(t *testing.T) {
	race.SkipSlow(t)
	const workers, each = 16, 8
	s := serve(t, 4, cns.Options{})
	w := watchTasks(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	ids := make([]string, workers)
	for i := range ids {
		ids[i] = s.create(t, spec(fmt.Sprintf("v%d", i), "one", 1))
	}
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() {
			specs := []cnstypes.CnsVolumeAttachDetachSpec{{VolumeId: cnstypes.CnsVolumeId{Id: id}, Vm: s.vms[i%len(s.vms)]}}
			for range each {
				for _, call := range []func(context.Context, []cnstypes.CnsVolumeAttachDetachSpec) (*object.Task, error){s.cns.AttachVolume, s.cns.DetachVolume} {
					task, err := call(ctx, specs)
					if err != nil {
						t.Error(err)
						return
					}
					info, err := w.wait(ctx, task)
					if err != nil {
						t.Error(err)
						return
					}
					batch, ok := info.Result.(cnstypes.CnsVolumeOperationBatchResult)
					if !ok || batch.VolumeResults[0].GetCnsVolumeOperationResult().Fault != nil {
						t.Errorf("%+v", info)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	checkEverything(t, s, nil)
}

// TestTwoVCenters has two vCenters work at once, each of which has to do what the model says: nothing of one is in the other.
func TestTwoVCenters(t *testing.T) {
	servers := []*server{serve(t, 2, cns.Options{VCenter: "a"}), serve(t, 2, cns.Options{VCenter: "b"})}
	ids, kept := make([][]string, len(servers)), make([][]string, len(servers))
	var wg sync.WaitGroup
	for n, s := range servers {
		wg.Go(func() {
			m := newModel(s, &fleet{vms: s.vms}, 7)
			for i := range rounds() / 20 {
				if what, got, want := m.step(t); got != want {
					t.Errorf("operation %d, %s: %s, want %s", i, what, got, want)
					return
				}
			}
			for id := range m.volumes {
				ids[n] = append(ids[n], id)
			}
			kept[n] = m.unregistered()
		})
	}
	wg.Wait()
	if len(ids[0]) == 0 || len(ids[1]) == 0 {
		t.Errorf("%d and %d volumes", len(ids[0]), len(ids[1]))
	}
	for _, id := range ids[0] {
		if _, there := servers[1].Volume(id); there {
			t.Errorf("%s is a volume of both", id)
		}
	}
	for n, s := range servers {
		checkEverything(t, s, kept[n])
	}
}
