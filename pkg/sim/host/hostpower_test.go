package host_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/host"
)

func TestStandby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, host.Options{Boot: 90 * time.Second})
		_, vm := r.clustered()
		h := r.hostOf(vm)
		name, n := hostName(r, h), len(r.events())
		down := func(seconds int32) (*object.Task, error) {
			res, err := methods.PowerDownHostToStandBy_Task(t.Context(), r.client, &types.PowerDownHostToStandBy_Task{This: h.Reference(), TimeoutSec: seconds})
			if err != nil {
				return nil, err
			}
			return object.NewTask(r.client, res.Returnval), nil
		}
		up := func(seconds int32) (*object.Task, error) {
			res, err := methods.PowerUpHostFromStandBy_Task(t.Context(), r.client, &types.PowerUpHostFromStandBy_Task{This: h.Reference(), TimeoutSec: seconds})
			if err != nil {
				return nil, err
			}
			return object.NewTask(r.client, res.Returnval), nil
		}
		refused(t, new(types.InvalidState))(up(0))
		done(t)(down(0))
		got := r.host(name)
		if s := got.Runtime; s.PowerState != types.HostSystemPowerStateStandBy || s.StandbyMode != string(types.HostStandbyModeIn) ||
			s.ConnectionState != types.HostSystemConnectionStateNotResponding || got.OverallStatus != types.ManagedEntityStatusGray || len(got.Vm) != 0 {
			t.Errorf("standby: %+v", s)
		}
		refused(t, new(types.HostNotReachable))(down(0))
		refused(t, new(types.Timedout))(up(30))
		begin := time.Now()
		done(t)(up(0))
		if d := time.Since(begin).Round(time.Second); d != 90*time.Second {
			t.Errorf("woke within %s", d)
		}
		if s := r.host(name).Runtime; s.PowerState != types.HostSystemPowerStatePoweredOn || s.StandbyMode != string(types.HostStandbyModeNone) {
			t.Errorf("woken: %+v", s)
		}
		events := r.history(n)
		for _, want := range []string{"EnteringStandbyModeEvent", "EnteredStandbyModeEvent", "ExitingStandbyModeEvent", "ExitedStandbyModeEvent"} {
			if !slices.Contains(events, want) {
				t.Errorf("no %s: %v", want, events)
			}
		}
		checkLists(r)
	})
}

func TestShutdownAndReboot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, host.Options{Boot: time.Minute})
		_, vm := r.clustered()
		h := r.hostOf(vm)
		name := hostName(r, h)
		shutdown := func(force bool) (*object.Task, error) {
			res, err := methods.ShutdownHost_Task(t.Context(), r.client, &types.ShutdownHost_Task{This: h.Reference(), Force: force})
			if err != nil {
				return nil, err
			}
			return object.NewTask(r.client, res.Returnval), nil
		}
		reboot := func(force bool) (*object.Task, error) {
			res, err := methods.RebootHost_Task(t.Context(), r.client, &types.RebootHost_Task{This: h.Reference(), Force: force})
			if err != nil {
				return nil, err
			}
			return object.NewTask(r.client, res.Returnval), nil
		}
		refused(t, new(types.InvalidState))(shutdown(false))
		refused(t, new(types.InvalidState))(reboot(false))

		boot := *r.host(name).Runtime.BootTime
		done(t)(reboot(true))
		if s := r.host(name).Runtime; s.ConnectionState != types.HostSystemConnectionStateNotResponding {
			t.Errorf("rebooting: %+v", s)
		}
		refused(t, new(types.HostNotReachable))(reboot(true))
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if s := r.host(name).Runtime; s.ConnectionState != types.HostSystemConnectionStateConnected || s.BootTime.Sub(boot) < time.Minute {
			t.Errorf("rebooted: %+v", s)
		}
		if m := r.vm(vm).Runtime; m.PowerState != types.VirtualMachinePowerStatePoweredOff {
			t.Errorf("VM: %+v", m)
		}

		done(t)(shutdown(true))
		if s := r.host(name).Runtime; s.ConnectionState != types.HostSystemConnectionStateNotResponding || s.PowerState != types.HostSystemPowerStatePoweredOff {
			t.Errorf("shut down: %+v", s)
		}
		must(t, r.hosts.Recover(t.Context(), h.Reference()))
		done(t)(h.EnterMaintenanceMode(t.Context(), 0, false, nil))
		done(t)(shutdown(false))
		must(t, r.hosts.Recover(t.Context(), h.Reference()))
		if !r.host(name).Runtime.InMaintenanceMode {
			t.Error("maintenance mode did not survive the shutdown")
		}
		// Close does not wait for a booting host.
		done(t)(reboot(false))
	})
}
