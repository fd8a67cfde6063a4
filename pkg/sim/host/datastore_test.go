package host_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/host"
)

func (r *rig) datastore(d ref) (m mo.Datastore) {
	r.t.Helper()
	if err := property.DefaultCollector(r.client).RetrieveOne(r.t.Context(), d, []string{"host", "summary", "overallStatus"}, &m); err != nil {
		r.t.Fatal(err)
	}
	return m
}

func TestLossOfADatastore(t *testing.T) {
	r := setup(t, host.Options{})
	_, vm := r.clustered()
	ds := r.vm(vm).Datastore[0]
	n := len(r.events())
	must(t, r.hosts.LoseDatastore(t.Context(), ds))
	must(t, r.hosts.LoseDatastore(t.Context(), ds))
	if d := r.datastore(ds); d.Summary.Accessible || d.OverallStatus != types.ManagedEntityStatusRed || *d.Host[0].MountInfo.Accessible {
		t.Errorf("datastore: %+v", d)
	}
	for _, v := range r.allVMs() {
		if v.Runtime.ConnectionState != types.VirtualMachineConnectionStateInaccessible || v.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
			t.Errorf("VM %s: %+v", v.Name, v.Runtime)
		}
	}
	refused(t, new(types.InvalidState))(object.NewVirtualMachine(r.client, vm).PowerOff(t.Context()))

	// A host that is lost as well hides what is lost behind it.
	h := r.hostOf(vm)
	disconnect(r, h)
	if s := r.vm(vm).Runtime.ConnectionState; s != types.VirtualMachineConnectionStateDisconnected {
		t.Errorf("VM: %s", s)
	}
	done(t)(h.Reconnect(t.Context(), nil, nil))
	if s := r.vm(vm).Runtime.ConnectionState; s != types.VirtualMachineConnectionStateInaccessible {
		t.Errorf("VM: %s", s)
	}

	must(t, r.hosts.RestoreDatastore(t.Context(), ds, h.Reference()))
	for _, v := range r.allVMs() {
		if (*v.Runtime.Host == h.Reference()) != (v.Runtime.ConnectionState == types.VirtualMachineConnectionStateConnected) {
			t.Errorf("VM %s: %+v", v.Name, v.Runtime)
		}
	}
	must(t, r.hosts.RestoreDatastore(t.Context(), ds))
	if d := r.datastore(ds); !d.Summary.Accessible || d.OverallStatus != types.ManagedEntityStatusGreen {
		t.Errorf("datastore: %+v", d)
	}
	for _, v := range r.allVMs() {
		if v.Runtime.ConnectionState != types.VirtualMachineConnectionStateConnected {
			t.Errorf("VM %s: %+v", v.Name, v.Runtime)
		}
	}
	if events := r.history(n); !slices.Contains(events, "esx.problem.storage.apd.start") || !slices.Contains(events, "esx.clear.storage.apd.exit") {
		t.Errorf("events %v", events)
	}
	if diff := cmp.Diff([]string{"datastore.lost", "datastore.back", "datastore.back"}, r.kinds("Datastore", 0)); diff != "" {
		t.Errorf("our events -want +got:\n%s", diff)
	}
	if err := r.hosts.LoseDatastore(t.Context(), ds, ref{Type: "HostSystem", Value: "host-0"}); err == nil {
		t.Error("a host that does not mount it has lost it")
	}
}

func TestOrphan(t *testing.T) {
	r := setup(t, host.Options{})
	_, vm := r.clustered()
	v := object.NewVirtualMachine(r.client, vm)
	done(t)(v.PowerOff(t.Context()))
	must(t, r.hosts.Hide(t.Context(), vm, types.VirtualMachineConnectionStateOrphaned))
	if s := r.vm(vm).Runtime.ConnectionState; s != types.VirtualMachineConnectionStateOrphaned {
		t.Errorf("VM: %s", s)
	}
	refused(t, new(types.InvalidState))(v.PowerOn(t.Context()))
	must(t, v.Unregister(t.Context()))
	if diff := cmp.Diff([]string{"vm.orphaned"}, r.kinds("VM", 0)); diff != "" {
		t.Errorf("our events -want +got:\n%s", diff)
	}
}

// A datastore is in maintenance mode when no VM has files on it any more, and leaves it at once.
func TestDatastoreMaintenance(t *testing.T) {
	r := setup(t, host.Options{})
	_, vm := r.clustered()
	ds := r.vm(vm).Datastore[0]
	enter := func() *object.Task {
		res, err := methods.DatastoreEnterMaintenanceMode(t.Context(), r.client, &types.DatastoreEnterMaintenanceMode{This: ds})
		must(t, err)
		return object.NewTask(r.client, *res.Returnval.Task)
	}
	exit := func() (*object.Task, error) {
		res, err := methods.DatastoreExitMaintenanceMode_Task(t.Context(), r.client, &types.DatastoreExitMaintenanceMode_Task{This: ds})
		if err != nil {
			return nil, err
		}
		return object.NewTask(r.client, res.Returnval), nil
	}
	mode := func(want types.DatastoreSummaryMaintenanceModeState) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); r.datastore(ds).Summary.MaintenanceMode != string(want); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s, want %s", r.datastore(ds).Summary.MaintenanceMode, want)
			}
		}
	}
	refused(t, new(types.InvalidState))(exit())
	waiting := enter()
	mode(types.DatastoreSummaryMaintenanceModeStateEnteringMaintenance)
	must(t, waiting.Cancel(t.Context()))
	if err := waiting.Wait(t.Context()); err == nil {
		t.Error("canceled, and without an error")
	}
	mode(types.DatastoreSummaryMaintenanceModeStateNormal)
	waiting = enter()
	for _, v := range r.allVMs() {
		of := object.NewVirtualMachine(r.client, v.Self)
		done(t)(of.PowerOff(t.Context()))
		done(t)(of.Destroy(t.Context()))
	}
	must(t, waiting.Wait(t.Context()))
	mode(types.DatastoreSummaryMaintenanceModeStateInMaintenance)
	refused(t, new(types.InvalidState))(enter(), nil)
	done(t)(exit())
	mode(types.DatastoreSummaryMaintenanceModeStateNormal)
}
