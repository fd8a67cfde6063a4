package host_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/host"
)

func TestMaintenanceOfAClusterWithDRS(t *testing.T) {
	r := setup(t, host.Options{})
	_, vm := r.clustered()
	h := r.hostOf(vm)
	name, n := hostName(r, h), len(r.events())
	vms := r.host(name).Vm

	done(t)(h.EnterMaintenanceMode(t.Context(), 0, false, nil))
	got := r.host(name)
	if !got.Runtime.InMaintenanceMode || len(got.Vm) != 0 || got.Runtime.ConnectionState != types.HostSystemConnectionStateConnected {
		t.Errorf("in maintenance mode: %+v, %d VMs", got.Runtime, len(got.Vm))
	}
	for _, ref := range vms {
		if m := r.vm(ref); *m.Runtime.Host == h.Reference() || m.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
			t.Errorf("VM %s: %+v", m.Name, m.Runtime)
		}
	}
	checkLists(r)
	if s := r.cluster().Summary.GetComputeResourceSummary(); s.NumEffectiveHosts != 2 {
		t.Errorf("cluster: %+v", s)
	}
	want := []string{"EnteringMaintenanceModeEvent"}
	for range vms {
		want = append(want, "DrsVmMigratedEvent")
	}
	if diff := cmp.Diff(append(want, "EnteredMaintenanceModeEvent"), r.history(n)); diff != "" {
		t.Errorf("events -want +got:\n%s", diff)
	}
	refused(t, new(types.InvalidState))(h.EnterMaintenanceMode(t.Context(), 0, false, nil))

	done(t)(h.ExitMaintenanceMode(t.Context(), 0))
	refused(t, new(types.InvalidState))(h.ExitMaintenanceMode(t.Context(), 0))
	if r.host(name).Runtime.InMaintenanceMode {
		t.Error("still in maintenance mode")
	}
	if diff := cmp.Diff([]string{"host.entering-maintenance", "host.maintenance", "host.maintenance-ended"}, r.kinds("Host", 0)); diff != "" {
		t.Errorf("our events -want +got:\n%s", diff)
	}
}

// standalone returns the host outside the cluster and its VMs.
func (r *rig) standalone() (*object.HostSystem, []ref) {
	for _, h := range r.allHosts() {
		if h.Parent.Type == "ComputeResource" {
			return object.NewHostSystem(r.client, h.Self), h.Vm
		}
	}
	r.t.Fatal("no standalone host")
	return nil, nil
}

// TestMaintenanceWithoutDRS waits until the VMs are off, or the time is up.
func TestMaintenanceWithoutDRS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, host.Options{})
		h, vms := r.standalone()
		begin := time.Now()
		refused(t, new(types.Timedout))(h.EnterMaintenanceMode(t.Context(), 60, false, nil))
		if d := time.Since(begin).Round(time.Second); d != time.Minute {
			t.Errorf("gave up after %s", d)
		}
		if r.host(hostName(r, h)).Runtime.InMaintenanceMode || !r.hosts.Usable(h.Reference()) {
			t.Error("it is out of service all the same")
		}

		task, err := h.EnterMaintenanceMode(t.Context(), 0, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		first := object.NewVirtualMachine(r.client, vms[0])
		done(t)(first.PowerOff(t.Context()))
		refused(t, new(types.InvalidState))(first.PowerOn(t.Context())) // not any more
		refused(t, new(types.InvalidState))(h.EnterMaintenanceMode(t.Context(), 0, false, nil))
		for _, vm := range vms[1:] {
			done(t)(object.NewVirtualMachine(r.client, vm).Suspend(t.Context()))
		}
		done(t)(task, nil)
		if !r.host(hostName(r, h)).Runtime.InMaintenanceMode {
			t.Error("not in maintenance mode")
		}
		refused(t, new(types.InvalidState))(first.PowerOn(t.Context()))
	})
}

// TestMaintenanceCanceled: however the wait ends, the host is in service again.
func TestMaintenanceCanceled(t *testing.T) {
	for name, tc := range map[string]struct {
		end  func(*rig, *object.HostSystem, *object.Task)
		want types.BaseMethodFault
	}{
		"by the user": {func(r *rig, _ *object.HostSystem, task *object.Task) { must(r.t, task.Cancel(r.t.Context())) }, new(types.RequestCanceled)},
		"by a crash": {func(r *rig, h *object.HostSystem, _ *object.Task) {
			must(r.t, r.hosts.Crash(r.t.Context(), h.Reference()))
		}, new(types.InvalidState)},
		"by the end": {func(r *rig, _ *object.HostSystem, _ *object.Task) { r.hosts.Close() }, new(types.RequestCanceled)},
	} {
		t.Run(name, func(t *testing.T) {
			r := setup(t, host.Options{})
			h, _ := r.standalone()
			task, err := h.EnterMaintenanceMode(t.Context(), 0, false, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.await("host.entering-maintenance")
			tc.end(r, h, task)
			refused(t, tc.want)(task, nil)
			r.await("host.stays")
		})
	}
}

// TestEvacuationOfEverything also moves VMs that are off, and says of a VM that has no other place so.
func TestEvacuationOfEverything(t *testing.T) {
	r := setup(t, host.Options{})
	hosts, vm := r.clustered()
	h := r.hostOf(vm)
	done(t)(object.NewVirtualMachine(r.client, vm).PowerOff(t.Context()))
	for _, other := range hosts {
		if other.Reference() != h.Reference() {
			disconnect(r, other)
		}
	}
	n := len(r.events())
	task, err := h.EnterMaintenanceMode(t.Context(), 0, true, nil)
	must(t, err)
	for !slices.Contains(r.history(n), "NoMaintenanceModeDrsRecommendationForVM") {
		time.Sleep(time.Millisecond) // the vCenter's history has no wait
	}
	for _, other := range hosts {
		if other.Reference() != h.Reference() {
			done(t)(other.Reconnect(t.Context(), nil, nil))
		}
	}
	done(t)(task, nil)
	if left := r.host(hostName(r, h)).Vm; len(left) != 0 {
		t.Errorf("%d VMs are left", len(left))
	}
	checkLists(r)
}
