package property_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/event"
	"github.com/vmware/govmomi/object"
	pc "github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/property"
)

// conform runs the same client calls against vcsim's own collector and ours, on
// equal inventories, and compares what the client made of it.
func conform(t *testing.T, run func(t *testing.T, v *vcenter, c *vim25.Client) any) {
	t.Helper()
	var got [2]any
	for i, ours := range []bool{false, true} {
		v := newVCenter(t, ours, property.Options{}, nil)
		got[i] = run(t, v, v.login(t))
	}
	if d := cmp.Diff(got[0], got[1]); d != "" {
		t.Errorf("outcome (-stock +ours):\n%s", d)
	}
}

func vmView(t *testing.T, c *vim25.Client, kinds ...string) *view.ContainerView {
	t.Helper()
	cv, err := view.NewManager(c).CreateContainerView(t.Context(), c.ServiceContent.RootFolder, kinds, true)
	if err != nil {
		t.Fatal(err)
	}
	return cv
}

func finish(t *testing.T, task *object.Task, err error) *types.TaskInfo {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patienceLimit)
	defer cancel()
	info, err := task.WaitForResult(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestConformPropertyWait(t *testing.T) {
	conform(t, func(t *testing.T, v *vcenter, c *vim25.Client) any {
		vm := v.vms()[0]
		var seen []string
		err := pc.Wait(t.Context(), pc.DefaultCollector(c), vm, []string{"runtime.powerState"}, func(changes []types.PropertyChange) bool {
			for _, ch := range changes {
				seen = append(seen, fmt.Sprint(ch.Name, ch.Op, ch.Val))
			}
			if len(seen) == 1 {
				task, err := object.NewVirtualMachine(c, vm).PowerOff(t.Context())
				finish(t, task, err)
			}
			return len(seen) == 2
		})
		if err != nil {
			t.Fatal(err)
		}
		return seen
	})
}

// The container-view watch of a controller: VMs come, change and go.
func TestConformContainerViewWatch(t *testing.T) {
	conform(t, func(t *testing.T, v *vcenter, c *vim25.Client) any {
		cv := vmView(t, c, "VirtualMachine")
		w := newWatch(t, own(t, c), viewSpec(cv.Reference(), "VirtualMachine", "name", "runtime.powerState", "guest.ipAddress", "runtime.host", "config.annotation"))
		w.next()
		enters := len(w.kinds)

		vms := v.vms()
		vm := object.NewVirtualMachine(c, vms[0])
		task, err := vm.PowerOff(t.Context())
		finish(t, task, err)
		task, err = vm.Rename(t.Context(), "renamed")
		finish(t, task, err)
		task, err = object.NewVirtualMachine(c, vms[1]).Reconfigure(t.Context(), types.VirtualMachineConfigSpec{
			ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "SET.guest.ipAddress", Value: "10.0.0.7"}},
		})
		finish(t, task, err)
		task, err = vm.Destroy(t.Context())
		finish(t, task, err)
		w.until("changes", func(s world) bool {
			_, there := s[vms[0].String()]
			return !there && s[vms[1].String()]["guest.ipAddress"] != ""
		})

		dc, err := v.datacenter(t, c)
		if err != nil {
			t.Fatal(err)
		}
		pool := object.NewResourcePool(c, v.Map.Any("ResourcePool").Reference())
		task, err = dc.CreateVM(t.Context(), types.VirtualMachineConfigSpec{Name: "late", Files: &types.VirtualMachineFileInfo{VmPathName: "[LocalDS_0]"}}, pool, nil)
		late := finish(t, task, err).Result.(types.ManagedObjectReference)
		w.until("new VM", func(s world) bool { return s[late.String()]["name"] != "" })
		return []any{enters, names(w.world), w.world[vms[1].String()]["guest.ipAddress"]}
	})
}

func names(w world) map[string]int {
	n := make(map[string]int)
	for _, props := range w {
		n[props["name"]]++
	}
	return n
}

// datacenter is the VM folder of the first datacenter.
func (v *vcenter) datacenter(t *testing.T, c *vim25.Client) (*object.Folder, error) {
	dc := object.NewDatacenter(c, v.Map.Any("Datacenter").Reference())
	f, err := dc.Folders(t.Context())
	if err != nil {
		return nil, err
	}
	return f.VmFolder, nil
}

// A recursive traversal sees VMs that are created below it.
func TestConformFolderTraversal(t *testing.T) {
	conform(t, func(t *testing.T, v *vcenter, c *vim25.Client) any {
		folders := &types.TraversalSpec{SelectionSpec: types.SelectionSpec{Name: "folders"}, Type: "Folder", Path: "childEntity"}
		folders.SelectSet = []types.BaseSelectionSpec{
			&types.SelectionSpec{Name: "folders"},
			&types.TraversalSpec{Type: "Datacenter", Path: "vmFolder", SelectSet: []types.BaseSelectionSpec{&types.SelectionSpec{Name: "folders"}}},
		}
		w := newWatch(t, own(t, c), types.CreateFilter{Spec: types.PropertyFilterSpec{
			PropSet:   []types.PropertySpec{{Type: "ManagedEntity", PathSet: []string{"name"}}},
			ObjectSet: []types.ObjectSpec{{Obj: c.ServiceContent.RootFolder, SelectSet: []types.BaseSelectionSpec{folders}}},
		}})
		w.next()
		folder, err := v.datacenter(t, c)
		if err != nil {
			t.Fatal(err)
		}
		sub, err := folder.CreateFolder(t.Context(), "sub")
		if err != nil {
			t.Fatal(err)
		}
		pool := object.NewResourcePool(c, v.Map.Any("ResourcePool").Reference())
		task, err := sub.CreateVM(t.Context(), types.VirtualMachineConfigSpec{Name: "deep", Files: &types.VirtualMachineFileInfo{VmPathName: "[LocalDS_0]"}}, pool, nil)
		deep := finish(t, task, err).Result.(types.ManagedObjectReference)
		w.until("VM in a new folder", func(s world) bool { return s[deep.String()] != nil })
		task, err = object.NewVirtualMachine(c, deep).Destroy(t.Context())
		finish(t, task, err)
		w.until("VM gone", func(s world) bool { return s[deep.String()] == nil })
		return names(w.world)
	})
}

func TestConformViewRetrieveAndFilter(t *testing.T) {
	conform(t, func(t *testing.T, v *vcenter, c *vim25.Client) any {
		cv := vmView(t, c, "VirtualMachine", "HostSystem")
		var vms []mo.VirtualMachine
		if err := cv.Retrieve(t.Context(), []string{"VirtualMachine"}, []string{"name", "summary"}, &vms); err != nil {
			t.Fatal(err)
		}
		var some []mo.VirtualMachine
		match := pc.Match{"name": "*VM0", "runtime.powerState": "poweredOn"}
		if err := cv.RetrieveWithFilter(t.Context(), []string{"VirtualMachine"}, []string{"name"}, &some, match); err != nil {
			t.Fatal(err)
		}
		found, err := cv.Find(t.Context(), []string{"HostSystem"}, pc.Match{"name": "*_H1"})
		if err != nil {
			t.Fatal(err)
		}
		return []int{len(vms), len(some), len(found), int(vms[0].Summary.Config.NumCpu)}
	})
}

func TestConformTaskWaits(t *testing.T) {
	conform(t, func(t *testing.T, v *vcenter, c *vim25.Client) any {
		vm := object.NewVirtualMachine(c, v.vms()[0])
		var out []any
		for _, wait := range []func(*object.Task) error{
			func(task *object.Task) error { return task.Wait(t.Context()) },
			func(task *object.Task) error { _, err := task.WaitForResult(t.Context()); return err },
			func(task *object.Task) error { return task.WaitEx(t.Context()) },
		} {
			task, err := vm.PowerOff(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, fault(wait(task))) // the second and third fail: it is off
		}
		return out
	})
}

func TestConformEventCollector(t *testing.T) {
	conform(t, func(t *testing.T, v *vcenter, c *vim25.Client) any {
		ctx, cancel := context.WithTimeout(t.Context(), patienceLimit)
		defer cancel()
		m := event.NewManager(c)
		var seen []string
		first := true
		err := m.Events(ctx, []types.ManagedObjectReference{c.ServiceContent.RootFolder}, 10, true, false,
			func(_ types.ManagedObjectReference, events []types.BaseEvent) error {
				if first {
					first = false
					task, err := object.NewVirtualMachine(c, v.vms()[0]).PowerOff(ctx)
					finish(t, task, err)
				}
				for _, e := range events {
					if off, ok := e.(*types.VmPoweredOffEvent); ok {
						seen = append(seen, off.Vm.Name)
						cancel()
					}
				}
				return nil
			}, "VmPoweredOffEvent", "VmPoweredOnEvent")
		if len(seen) == 0 {
			t.Fatal(err)
		}
		return seen
	})
}

func TestConformIndexedPaths(t *testing.T) {
	conform(t, func(t *testing.T, v *vcenter, c *vim25.Client) any {
		vm := v.vms()[0]
		w := newWatch(t, own(t, c), spec("VirtualMachine", []string{`config.extraConfig["guestinfo.a"]`, "config.hardware.device[4000]"}, vm))
		w.next()
		reconfigure := func(key, value string) {
			task, err := object.NewVirtualMachine(c, vm).Reconfigure(t.Context(), types.VirtualMachineConfigSpec{
				ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: key, Value: value}},
			})
			finish(t, task, err)
		}
		reconfigure("guestinfo.other", "x")
		reconfigure("guestinfo.a", "1")
		key := `config.extraConfig["guestinfo.a"]`
		w.until("added", func(s world) bool { return s[vm.String()][key] != "" })
		added := w.world[vm.String()][key]
		reconfigure("guestinfo.a", "")
		w.until("removed", func(s world) bool { return s[vm.String()][key] == "" })
		return []any{added, w.world[vm.String()]}
	})
}

// A list view of tasks: tasks are added while they run, and removed when done.
func TestConformTaskListView(t *testing.T) {
	conform(t, func(t *testing.T, v *vcenter, c *vim25.Client) any {
		lv, err := view.NewManager(c).CreateListView(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		w := newWatch(t, own(t, c), viewSpec(lv.Reference(), "Task", "info"))
		w.next()
		task, err := object.NewVirtualMachine(c, v.vms()[0]).PowerOff(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lv.Add(t.Context(), []types.ManagedObjectReference{task.Reference()}); err != nil {
			t.Fatal(err)
		}
		w.until("task", func(s world) bool { return len(s) == 1 })
		return len(w.world)
	})
}

// The task view of govmomi, as govc tasks -f follows tasks.
func TestConformTaskView(t *testing.T) {
	conform(t, func(t *testing.T, v *vcenter, c *vim25.Client) any {
		ctx, cancel := context.WithTimeout(t.Context(), patienceLimit)
		defer cancel()
		vm := object.NewVirtualMachine(c, v.vms()[0])
		watch := vm.Reference()
		tv, err := view.NewManager(c).CreateTaskView(ctx, &watch)
		if err != nil {
			t.Fatal(err)
		}
		tv.Follow = true
		task, err := vm.PowerOff(ctx)
		finish(t, task, err)
		ended := make(map[string]types.TaskInfoState)
		err = tv.Collect(ctx, func(infos []types.TaskInfo) {
			for _, info := range infos {
				if info.CompleteTime != nil && info.Entity != nil && *info.Entity == watch {
					ended[info.DescriptionId] = info.State
				}
			}
			switch len(ended) {
			case 1:
				task, err := vm.PowerOn(ctx)
				finish(t, task, err)
			case 2:
				cancel()
			}
		})
		if len(ended) != 2 {
			t.Fatalf("saw %v, then %v", ended, err)
		}
		return ended
	})
}

func TestConformMaxWait(t *testing.T) {
	conform(t, func(t *testing.T, v *vcenter, c *vim25.Client) any {
		w := newWatch(t, own(t, c), spec("VirtualMachine", []string{"name"}, v.vms()[0]))
		w.next()
		var out []any
		for _, seconds := range []int32{0, 1} {
			start := time.Now()
			set, err := w.ask(seconds)
			out = append(out, set == nil, fault(err), time.Since(start).Round(time.Second).Seconds())
		}
		return out
	})
}

func TestConformMissingObject(t *testing.T) {
	conform(t, func(t *testing.T, v *vcenter, c *vim25.Client) any {
		gone := ref("VirtualMachine", "vm-none")
		err := pc.Wait(t.Context(), pc.DefaultCollector(c), gone, []string{"name"}, func([]types.PropertyChange) bool { return true })
		return fmt.Sprintf("%T", soap.ToSoapFault(err).VimFault()) // the words are ours only
	})
}

// pyVmomi's samples ask with WaitForUpdates and for everything.
func TestConformWaitForUpdatesOfAll(t *testing.T) {
	conform(t, func(t *testing.T, v *vcenter, c *vim25.Client) any {
		p := own(t, c)
		vm := v.vms()[0]
		f := spec("VirtualMachine", nil, vm)
		f.Spec.PropSet[0].All = new(true)
		if _, err := p.CreateFilter(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		w := make(world)
		version := ""
		for w[vm.String()]["name"] != asXML(t, "other") {
			res, err := methods.WaitForUpdates(t.Context(), c, &types.WaitForUpdates{This: p.Reference(), Version: version})
			if err != nil {
				t.Fatal(err)
			}
			w.fold(t, &res.Returnval)
			if version == "" {
				task, err := object.NewVirtualMachine(c, vm).Rename(t.Context(), "other")
				finish(t, task, err)
			}
			version = res.Returnval.Version
		}
		return len(w[vm.String()])
	})
}
