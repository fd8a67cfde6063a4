package property_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	pc "github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/property"
)

// The pattern of the vSphere CSI driver (cns-lib/volume/listview.go): one list
// view of tasks, waited on by one goroutine, to which others add tasks while
// they run and from which they are removed when done. vcsim's own collector
// deadlocks under it within seconds.
func TestTaskListViewUnderLoad(t *testing.T) {
	const workers, rounds = 6, 12
	v := newVCenter(t, true, property.Options{}, func(m *simulator.Model) { m.Machine = workers })
	c := v.login(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	lv, err := view.NewManager(c).CreateListView(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	waiting := make(map[types.ManagedObjectReference]chan struct{})
	pending := func(ref types.ManagedObjectReference) chan struct{} {
		mu.Lock()
		defer mu.Unlock()
		if waiting[ref] == nil {
			waiting[ref] = make(chan struct{}, 1)
		}
		return waiting[ref]
	}

	listening, stop := context.WithCancel(ctx)
	var listener sync.WaitGroup
	listener.Go(func() {
		filter := new(pc.WaitFilter)
		filter.CreateFilter = viewSpec(lv.Reference(), "Task", "info")
		err := pc.WaitForUpdates(listening, pc.DefaultCollector(c), filter, func(updates []types.ObjectUpdate) bool {
			for _, u := range updates {
				for _, ch := range u.ChangeSet {
					info, ok := ch.Val.(types.TaskInfo)
					if ok && (info.State == types.TaskInfoStateSuccess || info.State == types.TaskInfoStateError) {
						select {
						case pending(u.Obj) <- struct{}{}:
						default:
						}
					}
				}
			}
			return false
		})
		if err != nil && listening.Err() == nil {
			t.Error(err)
		}
	})

	var work sync.WaitGroup
	for i, ref := range v.vms()[:workers] {
		work.Go(func() {
			vm := object.NewVirtualMachine(c, ref)
			for round := range rounds {
				op := vm.PowerOff
				if round%2 == 1 {
					op = vm.PowerOn
				}
				task, err := op(ctx)
				if err != nil {
					t.Errorf("worker %d: %v", i, err)
					return
				}
				refs := []types.ManagedObjectReference{task.Reference()}
				if _, err := lv.Add(ctx, refs); err != nil {
					t.Errorf("worker %d: %v", i, err)
					return
				}
				select {
				case <-pending(task.Reference()):
				case <-ctx.Done():
					t.Errorf("worker %d, round %d: the end of a task was not seen", i, round)
					return
				}
				if _, err := lv.Remove(ctx, refs); err != nil {
					t.Errorf("worker %d: %v", i, err)
					return
				}
			}
		})
	}
	work.Wait()
	stop()
	listener.Wait()
}

// VMs are created and destroyed under watchers of a container view.
func TestCreateAndDestroyUnderContainerView(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, nil)
	c := v.login(t)
	folder, err := v.datacenter(t, c)
	if err != nil {
		t.Fatal(err)
	}
	var watches []*watch
	for range 3 {
		session := v.login(t)
		w := newWatch(t, own(t, session), viewSpec(vmView(t, session, "VirtualMachine").Reference(), "VirtualMachine", "name", "runtime.powerState"))
		w.next()
		watches = append(watches, w)
	}
	stop := make(chan struct{})
	var watching sync.WaitGroup
	for _, w := range watches {
		watching.Go(func() {
			for {
				if _, err := w.ask(1); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}

	pool := object.NewResourcePool(c, v.Map.Any("ResourcePool").Reference())
	var survivors []types.ManagedObjectReference
	for i := range 12 {
		task, err := folder.CreateVM(t.Context(), types.VirtualMachineConfigSpec{
			Name: fmt.Sprintf("vm-%d", i), Files: &types.VirtualMachineFileInfo{VmPathName: "[LocalDS_0]"},
		}, pool, nil)
		made := finish(t, task, err).Result.(types.ManagedObjectReference)
		if i%3 == 0 {
			survivors = append(survivors, made)
			continue
		}
		task, err = object.NewVirtualMachine(c, made).Destroy(t.Context())
		finish(t, task, err)
		v.settle()
	}
	close(stop)
	watching.Wait()
	want := len(v.vms())
	for _, w := range watches {
		w.until("survivors", func(s world) bool {
			for _, ref := range survivors {
				if s[ref.String()] == nil {
					return false
				}
			}
			return len(s) == want
		})
	}
}

// takeAway removes a VM and returns a copy to put back. The object itself could
// not be put back: vcsim forgets the lock of what is removed, and who still
// reads it holds the old one.
func (v *vcenter) takeAway(vm types.ManagedObjectReference) mo.Reference {
	ctx := v.call()
	obj := ctx.Map.Get(vm)
	again := new(simulator.VirtualMachine)
	ctx.WithLock(obj, func() { again.VirtualMachine = *simulator.Checkpoint(obj).(*mo.VirtualMachine) })
	ctx.Map.Remove(ctx, vm)
	return again
}

// TestFoldedUpdatesEqualRetrieval: the folded updates of a watcher equal a retrieval.
func TestFoldedUpdatesEqualRetrieval(t *testing.T) {
	race.SkipSlow(t)
	v := newVCenter(t, true, property.Options{}, func(m *simulator.Model) { m.Machine = 8 })
	c := v.login(t)
	paths := []string{"name", "guest.ipAddress", "guest", "summary.quickStats", "runtime.powerState", "datastore", `config.extraConfig["k"]`}
	cv := vmView(t, c, "VirtualMachine")
	filter := viewSpec(cv.Reference(), "VirtualMachine", paths...)
	w := newWatch(t, own(t, c), filter)

	vms := v.vms()
	stop := make(chan struct{})
	var churn sync.WaitGroup
	for worker := range 3 {
		churn.Go(func() {
			rnd := rand.New(rand.NewPCG(7, uint64(worker)))
			mine := vms[worker*5 : worker*5+5]
			away := make(map[types.ManagedObjectReference]mo.Reference)
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				vm := mine[rnd.IntN(len(mine))]
				if obj := away[vm]; obj != nil {
					v.Map.Put(obj)
					delete(away, vm)
					continue
				}
				switch rnd.IntN(6) {
				case 0:
					v.set(vm, change("name", fmt.Sprint(n%17)))
				case 1:
					v.set(vm, change("guest.ipAddress", fmt.Sprint("10.0.0.", n%9)))
				case 2:
					v.set(vm, change("guest", &types.GuestInfo{HostName: fmt.Sprint(n % 5), GuestState: "running"}))
				case 3:
					v.set(vm, change("summary.quickStats.overallCpuUsage", int32(n%11)))
				case 4:
					v.set(vm, change("config.extraConfig", []types.BaseOptionValue{&types.OptionValue{Key: "k", Value: fmt.Sprint(n % 3)}}))
				case 5:
					if rnd.IntN(10) == 0 {
						away[vm] = v.takeAway(vm)
					}
				}
			}
		})
	}
	for range 60 {
		if _, err := w.ask(1); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	churn.Wait()
	for {
		set, err := w.ask(0)
		if err != nil {
			t.Fatal(err)
		}
		if set == nil {
			break
		}
	}

	res, err := methods.RetrievePropertiesEx(t.Context(), c, &types.RetrievePropertiesEx{
		This: c.ServiceContent.PropertyCollector, SpecSet: []types.PropertyFilterSpec{filter.Spec},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := make(world)
	for _, o := range res.Returnval.Objects {
		props := make(map[string]string)
		for _, p := range o.PropSet {
			props[p.Name] = asXML(t, p.Val)
		}
		want[o.Obj.String()] = props
	}
	if d := cmp.Diff(want, w.world); d != "" {
		t.Errorf("world (-retrieved +watched):\n%s", d)
	}
}
