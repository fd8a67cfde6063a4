package host_test

import (
	"testing"

	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/faulttest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/host"
)

const (
	connected     = types.HostSystemConnectionStateConnected
	notResponding = types.HostSystemConnectionStateNotResponding
	disconnected  = types.HostSystemConnectionStateDisconnected
)

// trial is one kind, done once.
type trial struct {
	on     fault.Selector
	params map[string]string
	// effect looks at what has become of it.
	effect func(t *testing.T, w world)
	// before makes it impossible.
	before func(t *testing.T, w world)
}

// down checks hosts of vCenter us and eu by their paths, and that the VMs on them are disconnected, with the power state
// that was known.
func down(hosts ...string) func(*testing.T, world) {
	return func(t *testing.T, w world) {
		t.Helper()
		for _, path := range hosts {
			h := w.host(path[:2], path[2:])
			if h.Runtime.ConnectionState != notResponding {
				t.Errorf("%s is %s", path, h.Runtime.ConnectionState)
			}
		}
		for _, path := range []string{"us/dcwest/vm/cp-1", "us/dcwest/vm/worker-west-1", "us/dceast/vm/worker-east-1", "us/dceast/vm/worker-east-2", "eu/dceu/vm/worker-eu-1", "eu/dceu/vm/worker-eu-2"} {
			vm := w.vm(path[:2], path[2:])
			want := types.VirtualMachineConnectionStateConnected
			for _, h := range hosts {
				if w.host(h[:2], h[2:]).Self == *vm.Runtime.Host && h[:2] == path[:2] {
					want = types.VirtualMachineConnectionStateDisconnected
				}
			}
			if vm.Runtime.ConnectionState != want || vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
				t.Errorf("%s is %s and %s, want %s", path, vm.Runtime.ConnectionState, vm.Runtime.PowerState, want)
			}
		}
	}
}

// crashes makes hosts crash before the fault.
func crashes(hosts ...string) func(*testing.T, world) {
	return func(t *testing.T, w world) {
		for _, path := range hosts {
			vc, _ := w.VCenter(path[:2])
			if err := vc.Hosts().Crash(t.Context(), w.host(path[:2], path[2:]).Self); err != nil {
				t.Fatal(err)
			}
		}
	}
}

const (
	west1 = "us/dcwest/host/west/esx-west-1"
	west2 = "us/dcwest/host/west/esx-west-2"
)

func trials() map[string]trial {
	shown := func(state types.VirtualMachineConnectionState) trial {
		return trial{
			on: faulttest.On("worker-east-1"),
			effect: func(t *testing.T, w world) {
				vm := w.vm("us", "/dceast/vm/worker-east-1")
				if vm.Runtime.ConnectionState != state || vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
					t.Errorf("VM is %s, %s", vm.Runtime.ConnectionState, vm.Runtime.PowerState)
				}
				if h := w.host("us", "/dceast/host/east/"+w.hostOf("us", "/dceast/vm/worker-east-1")); h.Runtime.ConnectionState != connected {
					t.Errorf("its host is %s", h.Runtime.ConnectionState)
				}
				task, err := object.NewVirtualMachine(w.Client("us").Client, vm.Self).PowerOff(t.Context())
				if err == nil {
					err = task.Wait(t.Context())
				}
				if !vimfault.Is(err, new(types.InvalidState)) {
					t.Errorf("power off: %v", err)
				}
			},
			before: func(t *testing.T, w world) {
				crashes("us/dceast/host/east/"+w.hostOf("us", "/dceast/vm/worker-east-1"))(t, w)
			},
		}
	}
	return map[string]trial{
		"host.crash": {
			on: faulttest.On("esx-west-1"), effect: down(west1), before: crashes(west1),
		},
		"host.power-off": {
			on: faulttest.On("esx-west-1"), before: crashes(west1),
			effect: func(t *testing.T, w world) {
				down(west1)(t, w)
				if s := w.host("us", west1[2:]).Runtime.PowerState; s != types.HostSystemPowerStatePoweredOff {
					t.Errorf("host is %s", s)
				}
			},
		},
		"host.network-loss": {
			on: faulttest.On("esx-west-1"), before: crashes(west1),
			effect: func(t *testing.T, w world) {
				down(west1)(t, w)
				if died := w.EventsOf("vm.died"); len(died) > 0 {
					t.Errorf("VMs died: %+v", died)
				}
			},
		},
		"host.disconnect": {
			on: faulttest.On("esx-west-1"), before: crashes(west1),
			effect: func(t *testing.T, w world) {
				h := w.host("us", west1[2:])
				if h.Runtime.ConnectionState != disconnected {
					t.Errorf("host is %s", h.Runtime.ConnectionState)
				}
			},
		},
		"host.maintenance": {
			on: faulttest.On("esx-west-1"), before: crashes(west2), // no host can take its VMs
			effect: func(t *testing.T, w world) {
				h := w.host("us", west1[2:])
				if !h.Runtime.InMaintenanceMode || len(h.Vm) > 0 || len(w.host("us", west2[2:]).Vm) != 2 {
					t.Errorf("host: %+v", h)
				}
			},
		},
		"cluster.outage": {
			on: faulttest.On("west"), effect: down(west1, west2), before: crashes(west1, west2),
		},
		"zone.outage": {
			on: faulttest.On("us-west"), effect: down(west1, west2), before: crashes(west1, west2),
		},
		"datacenter.outage": {
			on: faulttest.On("dceu"), effect: down("eu/dceu/host/eu/esx-eu-1", "eu/dceu/host/eu/esx-eu-2"),
			before: crashes("eu/dceu/host/eu/esx-eu-1", "eu/dceu/host/eu/esx-eu-2"),
		},
		"vm.disconnected": shown(types.VirtualMachineConnectionStateDisconnected),
		"vm.inaccessible": shown(types.VirtualMachineConnectionStateInaccessible),
		"vm.orphaned":     shown(types.VirtualMachineConnectionStateOrphaned),
	}
}

// TestKinds sees the effect of each kind, its revert and its refusal.
func TestKinds(t *testing.T) {
	race.SkipSlow(t)
	all := trials()
	for _, k := range host.Kinds() {
		trial, ok := all[k.Name]
		if !ok {
			t.Errorf("%s: no trial", k.Name)
			continue
		}
		delete(all, k.Name)
		t.Run(k.Name, func(t *testing.T) {
			w := start(t, zones)
			before := w.Shown()
			request := fault.Request{Kind: k.Name, On: trial.on, Params: trial.params}
			if p := w.Plan(t, host.Kinds(), request); p.Targets[0].Effect == "" {
				t.Errorf("planned %+v", p)
			}
			w.WaitUnchanged(before)
			lease := w.Inject(t, host.Kinds(), request)
			trial.effect(t, w)
			w.Heal(t, lease.ID)
			w.WaitUnchanged(before)

			if caused := w.Caused(lease.Seq); len(caused) < 2 { // the healing is one
				t.Errorf("it caused %v", caused)
			}
			trial.before(t, w)
			broken := w.Shown()
			if r := w.Refused(t, host.Kinds(), request); r.Code != "conflict" {
				t.Errorf("refused: %+v", r)
			}
			w.WaitUnchanged(broken)
		})
	}
	for name := range all {
		t.Errorf("%s: no such kind", name)
	}
}
