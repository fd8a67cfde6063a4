package storage_test

import (
	"strings"
	"testing"
	"time"

	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/faulttest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/storage"
)

// trial is a kind tried on an object, and refused.
type trial struct {
	on     string
	params map[string]string
	// before prepares the world, effect looks at what has become of it, after at what can be done again.
	before, effect, after func(w world)
	// obstacle makes it impossible; refused are other parameters for that.
	obstacle func(w world)
	refused  map[string]string
	code     string
}

func trials() map[string]trial {
	const vm, ds = "worker-east-1", "dceast-ds"
	return map[string]trial{
		"datastore.inaccessible":      {on: ds, effect: lost, obstacle: lose},
		"datastore.removed-from-host": {on: ds, params: map[string]string{"host": "esx-east-1"}, effect: unmounted, refused: map[string]string{"host": "esx-west-1"}},
		"datastore.full":              {on: ds, effect: full, after: roomy, obstacle: fill},
		"datastore.maintenance":       {on: ds, effect: entering, obstacle: enter},
		"disk.attach-refused":         {on: vm, effect: refusing(new(types.FileLocked)), after: accepting, refused: map[string]string{"answer": "maybe"}, code: "invalid"},
		"disk.detached":               {on: vm, before: second, effect: detached, obstacle: onlyOne},
		"disk.left-on-dead-vm":        {on: vm, before: second, effect: dead, obstacle: off},
		"tasks.slow":                  {on: "us", params: map[string]string{"by": slower.String()}, effect: slow, after: fast, refused: map[string]string{"by": "0s"}, code: "invalid"},
	}
}

// TestKinds sees the effect of each kind, its revert and its refusal.
func TestKinds(t *testing.T) {
	all := trials()
	for _, k := range storage.Kinds() {
		trial, ok := all[k.Name]
		if !ok {
			t.Errorf("%s: no trial", k.Name)
			continue
		}
		delete(all, k.Name)
		t.Run(k.Name, func(t *testing.T) {
			w := start(t)
			if trial.before != nil {
				trial.before(w)
			}
			before := w.Shown()
			request := fault.Request{Kind: k.Name, On: faulttest.On(trial.on), Params: trial.params}
			w.Plan(t, storage.Kinds(), request)
			w.WaitUnchanged(before)
			lease := w.Inject(t, storage.Kinds(), request)
			trial.effect(w)
			w.Heal(t, lease.ID)
			w.WaitUnchanged(before)
			if caused := w.Caused(lease.Seq); len(caused) < 2 { // the healing is one
				t.Errorf("it caused %v", caused)
			}
			if trial.after != nil {
				trial.after(w)
			}

			if trial.obstacle != nil {
				trial.obstacle(w)
			}
			if trial.refused != nil {
				request.Params = trial.refused
			}
			if trial.code == "" {
				trial.code = "conflict"
			}
			before = w.Shown()
			if r := w.Refused(t, storage.Kinds(), request); r.Code != trial.code {
				t.Errorf("refused: %+v", r)
			}
			w.WaitUnchanged(before)
		})
	}
	for name := range all {
		t.Errorf("%s: no such kind", name)
	}
}

func (w world) is(want types.BaseMethodFault, err error) {
	w.t.Helper()
	if !vimfault.Is(err, want) {
		w.t.Errorf("got %v, want a %T", err, want)
	}
}

func lost(w world) {
	ds := w.datastore()
	if ds.Summary.Accessible || ds.OverallStatus != types.ManagedEntityStatusRed {
		w.t.Errorf("datastore: %+v", ds.Summary)
	}
	for _, m := range ds.Host {
		if *m.MountInfo.Accessible || m.MountInfo.InaccessibleReason == "" {
			w.t.Errorf("host %s: %+v", m.Key.Value, m.MountInfo)
		}
	}
	var vm mo.VirtualMachine
	w.Get("us", w.vm().Reference(), &vm, "runtime")
	if vm.Runtime.ConnectionState != types.VirtualMachineConnectionStateInaccessible || vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		w.t.Errorf("VM: %s and %s", vm.Runtime.ConnectionState, vm.Runtime.PowerState)
	}
	w.is(new(types.InvalidState), w.finish(w.vm().PowerOff(w.t.Context())))
}

func lose(w world) {
	vc, _ := w.VCenter("us")
	if err := vc.Hosts().LoseDatastore(w.t.Context(), w.Ref("us", dsPath)); err != nil {
		w.t.Fatal(err)
	}
}

// entering checks that the datastore is not for new volumes, and that its VMs run on.
func entering(w world) {
	const want = types.DatastoreSummaryMaintenanceModeStateEnteringMaintenance
	for deadline := time.Now().Add(10 * time.Second); w.datastore().Summary.MaintenanceMode != string(want); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("datastore: %+v", w.datastore().Summary)
		}
	}
	w.must(w.vm().Reconfigure(w.t.Context(), types.VirtualMachineConfigSpec{Annotation: "stays"}))
}

func enter(w world) {
	if _, err := methods.DatastoreEnterMaintenanceMode(w.t.Context(), w.Client("us").Client, &types.DatastoreEnterMaintenanceMode{This: w.Ref("us", dsPath)}); err != nil {
		w.t.Fatal(err)
	}
	entering(w)
}

func unmounted(w world) {
	var host mo.HostSystem
	w.Get("us", w.Ref("us", hostPath), &host, "datastore", "vm")
	ds := w.datastore()
	if len(host.Datastore) != 0 || len(ds.Host) != 1 || ds.Host[0].Key == host.Self || !ds.Summary.Accessible {
		w.t.Errorf("host %+v, datastore %+v", host.Datastore, ds)
	}
	for _, ref := range host.Vm {
		var vm mo.VirtualMachine
		w.Get("us", ref, &vm, "runtime.connectionState")
		if vm.Runtime.ConnectionState != types.VirtualMachineConnectionStateInaccessible {
			w.t.Errorf("VM: %s", vm.Runtime.ConnectionState)
		}
	}
}

func full(w world) {
	ds := w.datastore()
	if ds.Summary.FreeSpace != 0 || ds.Summary.Capacity == 0 {
		w.t.Errorf("datastore: %+v", ds.Summary)
	}
	none := new(types.NoDiskSpace)
	ctx := w.t.Context()
	w.is(none, w.finish(w.addDisk()))
	w.is(none, w.create("another"))
	w.is(none, w.clone("copy"))
	w.is(none, w.extend(2))
	_, err := w.createVolume("pvc-1")
	w.is(none, err)
	if err := object.NewDatastore(w.Client("us").Client, ds.Self).FindInventoryPath(ctx); err != nil {
		w.t.Error(err)
	}
	w.must(w.vm().Reconfigure(ctx, types.VirtualMachineConfigSpec{Annotation: "needs no space"}))
}

func roomy(w world) {
	if _, err := w.createVolume("pvc-2"); err != nil {
		w.t.Error(err)
	}
	w.must(w.addDisk())
}

func fill(w world) {
	vc, _ := w.VCenter("us")
	if err := vc.Hosts().Fill(w.t.Context(), w.Ref("us", dsPath)); err != nil {
		w.t.Fatal(err)
	}
}

// refusing checks that nothing can be attached, and everything else be done.
func refusing(want types.BaseMethodFault) func(world) {
	return func(w world) {
		w.is(want, w.finish(w.addDisk()))
		id, err := w.createVolume("pvc")
		if err != nil {
			w.t.Fatal(err)
		}
		w.is(want, w.attachVolume(id))
		w.must(w.vm().Reconfigure(w.t.Context(), types.VirtualMachineConfigSpec{Annotation: "is no disk"}))
		if err := w.outcomeOf(w.volumes().DeleteVolume(w.t.Context(), volumeIDs(id), true)); err != nil {
			w.t.Error(err)
		}
	}
}

func accepting(w world) {
	w.must(w.addDisk())
	id, err := w.createVolume("pvc")
	if err == nil {
		err = w.attachVolume(id)
	}
	if err == nil {
		err = w.detachVolume(id)
	}
	if err != nil {
		w.t.Error(err)
	}
}

func second(w world) { w.must(w.addDisk()) }

func detached(w world) {
	if n := len(w.disks()); n != 1 {
		w.t.Errorf("%d disks", n)
	}
}

func onlyOne(w world) {
	if err := w.removeDisk(); err != nil {
		w.t.Fatal(err)
	}
}

func dead(w world) {
	state, err := w.vm().PowerState(w.t.Context())
	if err != nil || state != types.VirtualMachinePowerStatePoweredOff || len(w.disks()) != 2 {
		w.t.Errorf("VM is %s, with %d disks, %v", state, len(w.disks()), err)
	}
	w.is(new(types.InvalidState), w.removeDisk())
	w.is(new(types.InvalidState), w.detachVolume(anyVolume()))
}

func off(w world) { w.must(w.vm().PowerOff(w.t.Context())) }

// slower is how much longer tasks take in the trial, and more than anything else does.
const slower = 1500 * time.Millisecond

// took is how long a task is seen to take.
func (w world) took() time.Duration {
	w.t.Helper()
	begin := time.Now()
	task, err := w.vm().Reconfigure(w.t.Context(), types.VirtualMachineConfigSpec{Annotation: "at " + begin.String()})
	if err != nil {
		w.t.Fatal(err)
	}
	if called := time.Since(begin); called > slower {
		w.t.Errorf("the call took %s", called)
	}
	var state mo.Task
	w.Get("us", task.Reference(), &state, "info")
	if state.Info.Entity == nil || *state.Info.Entity != w.vm().Reference() || state.Info.DescriptionId == "" {
		w.t.Errorf("task: %+v", state.Info)
	}
	if err := task.Wait(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return time.Since(begin)
}

func slow(w world) {
	if d := w.took(); d < slower {
		w.t.Errorf("a task took %s", d)
	}
}

func fast(w world) {
	if d := w.took(); d > slower {
		w.t.Errorf("a task took %s", d)
	}
}

// TestHealingEndsSlowTasks: healing ends a delay at once. Failed tasks have a reason, and CNS is slow, too.
func TestHealingEndsSlowTasks(t *testing.T) {
	w := start(t)
	lease := w.Inject(t, storage.Kinds(), fault.Request{Kind: "tasks.slow", On: faulttest.On("us"), Params: map[string]string{"by": "10m"}})
	off, err := w.vm().PowerOff(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again, err := w.vm().PowerOff(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	volume, err := w.volumes().CreateVolume(t.Context(), w.volume("pvc"))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range []*object.Task{off, again, volume} {
		var m mo.Task
		if w.Get("us", task.Reference(), &m, "info.state"); m.Info.State != types.TaskInfoStateRunning {
			t.Errorf("%s is %s", task.Reference().Value, m.Info.State)
		}
	}
	w.Heal(t, lease.ID)
	if err := off.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	w.is(new(types.InvalidPowerState), again.Wait(t.Context()))
	if _, err := w.outcome(volume, nil); err != nil {
		t.Error(err)
	}
}

// TestAnswers: each answer of a refused attachment is another fault.
func TestAnswers(t *testing.T) {
	for name, want := range map[string]types.BaseMethodFault{
		"no-free-slot": new(types.TooManyDevices), "invalid-state": new(types.InvalidState),
	} {
		w := start(t)
		w.Inject(t, storage.Kinds(), fault.Request{Kind: "disk.attach-refused", On: faulttest.On("worker-east-1"), Params: map[string]string{"answer": name}})
		refusing(want)(w)
	}
}

// TestDisksAreRefusedOnce: of two kinds that refuse changes of a VM's disks the first to heal would end both.
func TestDisksAreRefusedOnce(t *testing.T) {
	for first, second := range map[string]string{"disk.attach-refused": "disk.left-on-dead-vm", "disk.left-on-dead-vm": "disk.attach-refused"} {
		t.Run(first, func(t *testing.T) {
			w := start(t)
			lease := w.Inject(t, storage.Kinds(), fault.Request{Kind: first, On: faulttest.On("worker-east-1")})
			if first == "disk.left-on-dead-vm" {
				w.must(w.vm().PowerOn(t.Context())) // or that would be the reason
			}
			if r := w.Refused(t, storage.Kinds(), fault.Request{Kind: second, On: faulttest.On("worker-east-1")}); !strings.Contains(r.Message, "refused already") {
				t.Errorf("%s: %+v", second, r)
			}
			w.Heal(t, lease.ID)
			w.Inject(t, storage.Kinds(), fault.Request{Kind: second, On: faulttest.On("worker-east-1")})
		})
	}
}
