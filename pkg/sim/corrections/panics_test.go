package corrections

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/event"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// run starts a task on the VM that does f.
func (v *vcenter) run(vm vc.Ref, f func()) *simulator.Task {
	t := simulator.CreateTask(vm, "odd", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) { f(); return nil, nil })
	t.Run(vc.Fresh(v.base))
	return t
}

func TestPanicInATask(t *testing.T) {
	v := start(t)
	vm := v.base.Map.Any("VirtualMachine").Reference()
	task := v.run(vm, func() { panic("odd") })
	task.Wait()
	fault, ok := task.Info.Error.Fault.(*types.SystemError)
	if !ok || fault.Reason != "odd" {
		t.Errorf("the task has failed with %#v", task.Info.Error)
	}
	vc.Set(vc.Fresh(v.base), vm, vc.P("overallStatus", types.ManagedEntityStatusGreen)) // its lock is free
}

func TestCancel(t *testing.T) {
	v := start(t)
	proceed := make(chan struct{})
	task := v.run(v.base.Map.Any("VirtualMachine").Reference(), func() { <-proceed })
	cancel := func() error {
		_, err := methods.CancelTask(t.Context(), v.client, &types.CancelTask{This: task.Self})
		return err
	}
	if vimFault(cancel()) != "NotSupported" {
		t.Error("a task that cannot be canceled was")
	}
	close(proceed)
	task.Wait()
	if task.Info.State != types.TaskInfoStateSuccess {
		t.Errorf("the task ended with %s", task.Info.State)
	}
	if vimFault(cancel()) != "InvalidState" {
		t.Error("a task that has ended was canceled")
	}
}

// vimFault is the name of the type of an error's fault.
func vimFault(err error) string {
	if err == nil || !soap.IsSoapFault(err) {
		return ""
	}
	name := fmt.Sprintf("%T", soap.ToSoapFault(err).VimFault())
	return name[strings.LastIndex(name, ".")+1:]
}

func TestNamesAreGiven(t *testing.T) {
	v := start(t)
	dc, _ := v.find.DefaultDatacenter(t.Context())
	for name, call := range map[string]func() error{
		"rename": func() error { _, err := dc.Rename(t.Context(), ""); return err },
		"folder": func() error { _, err := object.NewRootFolder(v.client).CreateFolder(t.Context(), ""); return err },
	} {
		if vimFault(call()) != "InvalidName" {
			t.Errorf("%s: no InvalidName", name)
		}
	}
}

// TestLongTasksAreNoTraffic: a removal does not wait for a task on a host, and for others it does.
func TestLongTasksAreNoTraffic(t *testing.T) {
	v := start(t)
	root := object.NewRootFolder(v.client)
	f, err := root.CreateFolder(t.Context(), "gone")
	if err != nil {
		t.Fatal(err)
	}
	proceed := make(chan struct{})
	long := simulator.CreateTask(v.base.Map.Any("HostSystem"), "enterMaintenanceMode", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		<-proceed
		return nil, nil
	})
	vc.Run(vc.Fresh(v.base), long)
	short := v.run(v.base.Map.Any("VirtualMachine").Reference(), func() { time.Sleep(20 * time.Millisecond) })
	task, err := f.Destroy(t.Context())
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Error(err)
	}
	if short.Info.State != types.TaskInfoStateSuccess {
		t.Error("the removal did not wait")
	}
	close(proceed)
	long.Wait()
}

func TestPoolsHaveSummaries(t *testing.T) {
	v := start(t)
	parent := v.base.Map.Any("ResourcePool").(*simulator.ResourcePool)
	pool := object.NewResourcePool(v.client, parent.Self)
	var refs []vc.Ref
	for _, name := range []string{"one", "two"} {
		p, err := pool.Create(t.Context(), name, types.DefaultResourceConfigSpec())
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, p.Reference())
	}
	for i, name := range []string{"one", "two"} {
		p := v.base.Map.Get(refs[i]).(*simulator.ResourcePool)
		if got := p.Summary.GetResourcePoolSummary().Name; p.Name != name || got != name {
			t.Errorf("pool %s has name %s and summary %s", name, p.Name, got)
		}
	}
	if _, err := pool.Create(t.Context(), "one", types.DefaultResourceConfigSpec()); err == nil {
		t.Error("two pools of one name")
	}
}

func TestMovesAndRenamesAreEvents(t *testing.T) {
	v := start(t)
	ctx := t.Context()
	all := v.base.Map.All("VirtualMachine")
	obj := all[slices.IndexFunc(all, func(e mo.Entity) bool {
		host := v.base.Map.Get(*e.(*simulator.VirtualMachine).Runtime.Host).(mo.Entity)
		return host.Entity().Parent.Type == "ClusterComputeResource"
	})].(*simulator.VirtualMachine)
	was := obj.Name
	vm := object.NewVirtualMachine(v.client, obj.Self)
	cluster := v.base.Map.Get(*v.base.Map.Get(*obj.Runtime.Host).(mo.Entity).Entity().Parent).(*simulator.ClusterComputeResource)
	to := cluster.Host[slices.IndexFunc(cluster.Host, func(h vc.Ref) bool { return h != *obj.Runtime.Host })]
	for _, call := range []func() (*object.Task, error){
		func() (*object.Task, error) {
			return vm.Relocate(ctx, types.VirtualMachineRelocateSpec{Host: &to}, "")
		},
		func() (*object.Task, error) { return vm.Rename(ctx, "other") },
	} {
		task, err := call()
		if err == nil {
			err = task.Wait(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	events, err := event.NewManager(v.client).QueryEvents(ctx, types.EventFilterSpec{
		Entity: &types.EventFilterSpecByEntity{Entity: vm.Reference(), Recursion: types.EventFilterSpecRecursionOptionSelf},
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range events {
		switch e := e.(type) {
		case *types.VmBeingMigratedEvent:
			seen["being migrated"] = e.FullFormattedMessage != ""
		case *types.VmMigratedEvent:
			seen["migrated"] = true
		case *types.VmRenamedEvent:
			seen["renamed"] = e.OldName == was && e.NewName == "other"
		}
	}
	if len(seen) != 3 || !seen["being migrated"] || !seen["renamed"] {
		t.Errorf("events: %v", seen)
	}
}
