package property_test

import (
	"sync/atomic"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/property"
)

// What happens to one VM costs its watcher the reading of that VM, not of all
// the others in the view: neither its creation, nor tasks on it, nor its end,
// though the watcher asks for lists that vcsim changes without notice.
func TestCostOfOneVM(t *testing.T) {
	const vms, few = 60, 6
	var reads atomic.Int64
	options := property.Options{Readable: func(*simulator.Context, types.ManagedObjectReference) bool {
		reads.Add(1)
		return true
	}}
	v := newVCenter(t, true, options, func(m *simulator.Model) { small(m); m.Machine = vms })
	c := v.login(t)
	w := newWatch(t, own(t, c), viewSpec(vmView(t, c, "VirtualMachine").Reference(), "VirtualMachine", "name", "config.annotation", "datastore", "network", "parent"))
	w.next()
	folder, err := v.datacenter(t, c)
	if err != nil {
		t.Fatal(err)
	}
	p := object.NewResourcePool(c, v.Map.Any("ResourcePool").Reference())
	var made types.ManagedObjectReference

	cost := func(what string, seen func(world) bool) {
		t.Helper()
		w.until(what, seen)
		for {
			set, err := w.ask(0)
			if err != nil {
				t.Fatal(err)
			}
			if set == nil {
				break
			}
		}
		// Waits for tasks read them, each twice or so.
		if n := reads.Load(); n > 4*few {
			t.Errorf("%s: %d objects read, of a view of %d", what, n, vms)
		}
		reads.Store(0)
	}
	reads.Store(0)

	task, err := folder.CreateVM(t.Context(), types.VirtualMachineConfigSpec{
		Name: "new", Files: &types.VirtualMachineFileInfo{VmPathName: "[LocalDS_0]"},
	}, p, nil)
	made = finish(t, task, err).Result.(types.ManagedObjectReference)
	cost("creation", func(s world) bool { return s[made.String()]["name"] != "" })

	vm := object.NewVirtualMachine(c, made)
	task, err = vm.Reconfigure(t.Context(), types.VirtualMachineConfigSpec{Annotation: "changed"})
	finish(t, task, err)
	cost("reconfiguration", func(s world) bool { return s[made.String()]["config.annotation"] == asXML(t, "changed") })

	task, err = vm.Destroy(t.Context())
	finish(t, task, err)
	cost("destruction", func(s world) bool { return s[made.String()] == nil })
}

// A path far below an index follows changes of the whole list.
func TestDeepIndexedPathFollowsItsList(t *testing.T) {
	v := newVCenter(t, true, property.Options{}, small)
	c := v.login(t)
	vm := v.vms()[0]
	path := "config.hardware.device[4000].deviceInfo.label"
	w := newWatch(t, own(t, c), spec("VirtualMachine", []string{path}, vm))
	w.next()
	relabel := func(key int32, label string) {
		ctx := v.call()
		obj := ctx.Map.Get(vm).(*simulator.VirtualMachine)
		ctx.WithLock(obj, func() {
			var devices []types.BaseVirtualDevice
			for _, d := range obj.Config.Hardware.Device {
				if d.GetVirtualDevice().Key == key {
					nic := *d.(*types.VirtualE1000)
					nic.DeviceInfo = &types.Description{Label: label}
					d = &nic
				}
				devices = append(devices, d)
			}
			ctx.Update(obj, []types.PropertyChange{change("config.hardware.device", devices)})
		})
	}
	relabel(4000, "renamed")
	expect(t, w.next(), "modify "+vm.Value, "  assign "+path+"=renamed")
	relabel(4000, "renamed")
	if set, err := w.ask(0); set != nil || err != nil {
		t.Errorf("nothing below the path changed: got %q, %v", lines(set), err)
	}
	v.set(vm, change("config.hardware.device", []types.BaseVirtualDevice{}))
	expect(t, w.next(), "modify "+vm.Value, "  assign "+path+"=<nil>")
}
