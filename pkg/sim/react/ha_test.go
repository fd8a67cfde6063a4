package react_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

var ha = topology.Reactions{HA: topology.HA{
	Enabled: topology.Yes, Detect: topology.Duration(15 * time.Second), Restart: topology.Duration(10 * time.Second),
}}

func TestHARestartsTheVMsOfALostHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, 6, ha, nil)
		hosts := r.refs("HostSystem")
		h := hosts[0]
		for i, n := 0, 0; n == 0; i++ { // one that runs some
			h, n = hosts[i], len(r.on(hosts[i]))
		}
		lost := r.on(h)
		off := lost[0]
		if len(lost) > 1 {
			done(t)(object.NewVirtualMachine(r.client, off).PowerOff(t.Context()))
			lost = lost[1:]
		}
		must(t, r.hosts.Crash(t.Context(), h))
		time.Sleep(24 * time.Second)
		synctest.Wait()
		for _, v := range lost {
			if s := r.vm(v).Runtime; *s.Host != h || s.ConnectionState != types.VirtualMachineConnectionStateDisconnected || s.PowerState != types.VirtualMachinePowerStatePoweredOn {
				t.Errorf("before its time: %+v", s)
			}
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for _, v := range lost {
			if s := r.vm(v).Runtime; *s.Host == h || s.ConnectionState != types.VirtualMachineConnectionStateConnected || s.PowerState != types.VirtualMachinePowerStatePoweredOn {
				t.Errorf("not restarted: %+v", s)
			}
		}
		if off != lost[0] && *r.vm(off).Runtime.Host != h {
			t.Error("a VM that was off was moved")
		}
		r.checkLists()
		history := r.history()
		for _, want := range []string{"com.vmware.vc.HA.DasHostFailedEvent", "com.vmware.vc.ha.VmRestartedByHAEvent"} {
			if !slices.Contains(history, want) {
				t.Errorf("no %s: %v", want, history)
			}
		}
		// One chain: crash, given up, VM off and on, restarted.
		events, _ := r.log.Read(0, 0)
		seq := map[string]uint64{}
		for _, e := range events {
			seq[e.Kind] = e.Seq
			var cause uint64
			switch e.Kind {
			case "ha.host-failed":
				cause = seq["host.crashed"]
			case "ha.restarted":
				cause = seq["ha.host-failed"]
			case "vm.powered-on", "vm.moved":
				cause = seq["ha.host-failed"]
			default:
				continue
			}
			if e.Cause != cause || cause == 0 {
				t.Errorf("%s has cause %d, want %d", e.Kind, e.Cause, cause)
			}
		}
		if seq["ha.restarted"] == 0 || seq["vm.powered-on"] == 0 {
			t.Errorf("events %v", seq)
		}
		must(t, r.hosts.Recover(t.Context(), h))
		r.checkLists()
	})
}

// TestHAHasNowhereToGo says so, once, and restarts when a host turns up.
func TestHAHasNowhereToGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, 6, ha, nil)
		hosts := r.refs("HostSystem")
		for _, h := range hosts {
			must(t, r.hosts.Crash(t.Context(), h))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		var failed int
		for _, k := range r.history() {
			if k == "VmFailoverFailed" {
				failed++
			}
		}
		if failed != 6 {
			t.Errorf("%d of 6 restarts failed", failed)
		}
		must(t, r.hosts.Recover(t.Context(), hosts[1]))
		synctest.Wait()
		if n := len(r.on(hosts[1])); n != 6 {
			t.Errorf("%d VMs on the host that came back", n)
		}
		r.checkLists()
	})
}

// TestHALeavesAlone what runs: VMs of a host that only lost its network, and those of a host that is disconnected.
func TestHALeavesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, 6, ha, nil)
		hosts := r.refs("HostSystem")
		h := *r.vm(r.refs("VirtualMachine")[0]).Runtime.Host
		before := len(r.on(h))
		must(t, r.hosts.Isolate(t.Context(), h))
		time.Sleep(time.Hour)
		must(t, r.hosts.Recover(t.Context(), h))
		synctest.Wait()
		if n := len(r.on(h)); n != before {
			t.Errorf("%d of %d VMs are left", n, before)
		}
		done(t)(object.NewHostSystem(r.client, h).Disconnect(t.Context()))
		must(t, r.hosts.Crash(t.Context(), h))
		time.Sleep(time.Hour)
		synctest.Wait()
		if slices.Contains(r.kinds("VM"), "ha.restarted") || len(hosts) != 3 {
			t.Error("VMs of a disconnected host were restarted")
		}
	})
}

// TestHAAfterAQuickReboot: the VMs of the failed host are restarted, on any host.
func TestHAAfterAQuickReboot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, 6, ha, nil)
		h := *r.vm(r.refs("VirtualMachine")[0]).Runtime.Host
		must(t, r.hosts.Crash(t.Context(), h))
		time.Sleep(time.Second)
		must(t, r.hosts.Recover(t.Context(), h))
		synctest.Wait()
		if n := len(r.on(h)); n != 0 {
			t.Errorf("%d VMs survived a crash", n)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, v := range r.refs("VirtualMachine") {
			if s := r.vm(v).Runtime; s.PowerState != types.VirtualMachinePowerStatePoweredOn {
				t.Errorf("%+v", s)
			}
		}
		if slices.Contains(r.kinds("Host"), "ha.host-failed") {
			t.Error("a host that is back was given up")
		}
		r.checkLists()
	})
}

// TestAdmissionControl keeps room for the VMs of one host. vcsim's hosts have 4 GB.
func TestAdmissionControl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		on := ha
		on.HA.HostFailures = 1
		r := setup(t, 3, on, nil)
		vms := r.refs("VirtualMachine")
		for _, v := range vms {
			vm := object.NewVirtualMachine(r.client, v)
			done(t)(vm.PowerOff(t.Context()))
			done(t)(vm.Reconfigure(t.Context(), types.VirtualMachineConfigSpec{MemoryMB: 3 << 10}))
		}
		start := func(v ref) error {
			task, err := object.NewVirtualMachine(r.client, v).PowerOn(t.Context())
			must(t, err)
			return task.Wait(t.Context())
		}
		must(t, start(vms[0]))
		must(t, start(vms[1]))
		// 9 GB do not fit on two hosts of 4 GB.
		if err := start(vms[2]); !fault.Is(err, new(types.InsufficientFailoverResourcesFault)) {
			t.Errorf("a power-on that leaves no room: %v", err)
		}
		cluster := object.NewClusterComputeResource(r.client, r.refs("ClusterComputeResource")[0])
		off := false
		done(t)(cluster.Reconfigure(t.Context(), &types.ClusterConfigSpecEx{DasConfig: &types.ClusterDasConfigInfo{AdmissionControlEnabled: &off}}, true))
		must(t, start(vms[2]))

		// Each host runs one of them now, or can take one only: a restart needs room.
		h := *r.vm(vms[0]).Runtime.Host
		must(t, r.hosts.Crash(t.Context(), h))
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, host := range r.refs("HostSystem") {
			if n := len(r.on(host)); host != h && n > 2 {
				t.Errorf("%d VMs of 3 GB on a host of 4 GB", n)
			}
		}
		r.checkLists()
	})
}

// TestHASwitchedOff in the cluster's configuration, by a client.
func TestHASwitchedOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, 6, ha, nil)
		cluster := object.NewClusterComputeResource(r.client, r.refs("ClusterComputeResource")[0])
		off := false
		done(t)(cluster.Reconfigure(t.Context(), &types.ClusterConfigSpecEx{DasConfig: &types.ClusterDasConfigInfo{Enabled: &off}}, true))
		must(t, r.hosts.Crash(t.Context(), *r.vm(r.refs("VirtualMachine")[0]).Runtime.Host))
		time.Sleep(time.Minute)
		synctest.Wait()
		if slices.Contains(r.kinds("VM"), "ha.restarted") {
			t.Error("VMs were restarted without HA")
		}
	})
}

// TestHAForSomeVMs: not for those for which it is disabled, nor on hosts that do not reach their datastore.
func TestHAForSomeVMs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := setup(t, 6, ha, nil)
		hosts, vms := r.refs("HostSystem"), r.refs("VirtualMachine")
		h := *r.vm(vms[0]).Runtime.Host
		var reachable ref
		for _, other := range hosts {
			if other != h && reachable == (ref{}) {
				reachable = other
			} else if other != h {
				must(t, r.hosts.LoseDatastore(t.Context(), r.refs("Datastore")[0], other))
			}
		}
		cluster := object.NewClusterComputeResource(r.client, r.refs("ClusterComputeResource")[0])
		done(t)(cluster.Reconfigure(t.Context(), &types.ClusterConfigSpecEx{DasVmConfigSpec: []types.ClusterDasVmConfigSpec{{
			ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd},
			Info: &types.ClusterDasVmConfigInfo{Key: vms[0], DasSettings: &types.ClusterDasVmSettings{
				RestartPriority: string(types.ClusterDasVmSettingsRestartPriorityDisabled),
			}},
		}}}, true))
		lost := r.on(h)
		must(t, r.hosts.Crash(t.Context(), h))
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, v := range lost {
			want := reachable
			if v == vms[0] {
				want = h
			}
			if got := *r.vm(v).Runtime.Host; got != want {
				t.Errorf("VM %s is on host %s, want %s", v.Value, got.Value, want.Value)
			}
		}
		r.checkLists()
	})
}
