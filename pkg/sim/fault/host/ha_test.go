package host_test

import (
	"slices"
	"testing"
	"time"

	"github.com/vmware/govmomi/event"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/faulttest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/host"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/snapshot"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// withHA has a cluster with HA and without DRS.
const withHA = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: ha}
spec:
  vcenters:
    - name: vc
      reactions:
        ha: {enabled: yes}
        drs: {enabled: no}
      datacenters:
        - name: dc
          clusters:
            - name: c
              hosts: [{name: "esx-{n}", replicas: 2}]
          vms:
            - {name: "vm-{n}", replicas: 2}
`

func startHA(t *testing.T) world {
	t.Helper()
	top, err := topology.Load("topology", []byte(withHA))
	if err != nil {
		t.Fatal(err)
	}
	return world{snapshot.On(t, faulttest.StartWith(t, sim.Options{Topology: top, Speed: 100}))}
}

// history lists the kinds of the vCenter's events.
func history(t *testing.T, w world) (kinds []string) {
	t.Helper()
	m := event.NewManager(w.Client("vc").Client)
	all, err := m.QueryEvents(t.Context(), types.EventFilterSpec{MaxCount: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if x, ok := e.(*types.EventEx); ok {
			kinds = append(kinds, x.EventTypeId)
		}
		if _, ok := e.(*types.HostConnectionLostEvent); ok {
			kinds = append(kinds, "HostConnectionLostEvent")
		}
	}
	return kinds
}

// TestHARestartsElsewhere: what HA has restarted stays where it is when the crash is healed.
func TestHARestartsElsewhere(t *testing.T) {
	w := startHA(t)
	crashed := w.hostOf("vc", "/dc/vm/vm-1")
	died := make(chan types.ManagedObjectReference, 10)
	vc, _ := w.VCenter("vc")
	vc.OnDied(func(vm types.ManagedObjectReference, seq uint64) {
		if seq == 0 {
			t.Error("a death without an event")
		}
		died <- vm
	})
	begin := time.Now()
	lease := w.Inject(t, host.Kinds(), fault.Request{Kind: "host.crash", On: faulttest.On(crashed)})
	if vm := <-died; vm != w.Ref("vc", "/dc/vm/vm-1") || len(died) > 0 {
		t.Errorf("%s died, and %d more", vm.Value, len(died))
	}
	w.Until("HA restarts it", func() bool { return len(w.EventsOf("ha.restarted")) > 0 })
	if d := time.Since(begin); d < 200*time.Millisecond {
		t.Errorf("HA took %s, at a hundredth of 25 seconds", d)
	}
	w.Until("the guest is up", func() bool { g := w.vm("vc", "/dc/vm/vm-1").Guest; return g != nil && g.IpAddress != "" })
	if h := w.hostOf("vc", "/dc/vm/vm-1"); h == crashed {
		t.Errorf("it is on %s", h)
	}
	for _, want := range []string{"HostConnectionLostEvent", "com.vmware.vc.HA.DasHostFailedEvent", "com.vmware.vc.ha.VmRestartedByHAEvent"} {
		if got := history(t, w); !slices.Contains(got, want) {
			t.Errorf("no %s among %v", want, got)
		}
	}
	// From the injection to the restart each has its cause.
	chain := map[string]string{"host.crashed": "fault.injected", "vm.died": "host.crashed", "ha.host-failed": "host.crashed", "ha.restarted": "ha.host-failed"}
	for kind, cause := range chain {
		e, c := w.EventsOf(kind)[0], w.EventsOf(cause)[0]
		if e.Cause != c.Seq {
			t.Errorf("%s is caused by %d, not by %s (%d)", kind, e.Cause, cause, c.Seq)
		}
	}
	w.Heal(t, lease.ID)
	vm := w.vm("vc", "/dc/vm/vm-1")
	if h := w.hostOf("vc", "/dc/vm/vm-1"); h == crashed || vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		t.Errorf("after the healing %s on %s", vm.Runtime.PowerState, h)
	}
	if h := w.host("vc", "/dc/host/c/"+crashed); h.Runtime.ConnectionState != connected {
		t.Errorf("host is %s", h.Runtime.ConnectionState)
	}
}

// TestHALeavesIsolatedHostsAlone: their VMs run.
func TestHALeavesIsolatedHostsAlone(t *testing.T) {
	w := startHA(t)
	before := w.Shown()
	name := w.hostOf("vc", "/dc/vm/vm-1")
	lease := w.Inject(t, host.Kinds(), fault.Request{Kind: "host.network-loss", On: faulttest.On(name), For: 600 * time.Millisecond})
	w.Until("it heals by itself", func() bool { return len(w.EventsOf("fault.healed")) > 0 })
	w.WaitUnchanged(before)
	w.Heal(t, lease.ID)
	for _, kind := range []string{"ha.host-failed", "ha.restarted", "vm.died"} {
		if e := w.EventsOf(kind); len(e) > 0 {
			t.Errorf("%+v", e)
		}
	}
}

// TestHealedBeforeHA: VMs start on their own host, and HA does not start them again.
func TestHealedBeforeHA(t *testing.T) {
	w := startHA(t)
	before := w.Shown()
	name := w.hostOf("vc", "/dc/vm/vm-1")
	lease := w.Inject(t, host.Kinds(), fault.Request{Kind: "host.crash", On: faulttest.On(name)})
	w.Heal(t, lease.ID)
	w.WaitUnchanged(before)
}

// TestMaintenanceWithoutDRS: the host waits until its VMs are moved, and healing ends that.
func TestMaintenanceWithoutDRS(t *testing.T) {
	w := startHA(t)
	before := w.Shown()
	name := w.hostOf("vc", "/dc/vm/vm-1")
	request := fault.Request{Kind: "host.maintenance", On: faulttest.On(name), Params: map[string]string{"evacuate": "false"}}
	lease := w.Inject(t, host.Kinds(), request)
	w.Until("it waits", func() bool { return len(w.EventsOf("host.entering-maintenance")) > 0 })
	if h := w.host("vc", "/dc/host/c/"+name); h.Runtime.InMaintenanceMode || len(h.Vm) != 1 {
		t.Errorf("host: %+v", h)
	}
	w.Heal(t, lease.ID)
	w.WaitUnchanged(before)
	w.Until("it stays", func() bool { return len(w.EventsOf("host.stays")) > 0 })

	request.Params = nil
	lease = w.Inject(t, host.Kinds(), request)
	if h := w.host("vc", "/dc/host/c/"+name); !h.Runtime.InMaintenanceMode || len(h.Vm) > 0 {
		t.Errorf("host: %+v", h)
	}
	w.Heal(t, lease.ID)
	w.WaitUnchanged(before)
}

// TestSeveralHosts: a lease of several hosts restores each VM where it was, also those that were off.
func TestSeveralHosts(t *testing.T) {
	w := start(t, zones)
	off := w.vm("us", "/dceast/vm/worker-east-2")
	powerOff(t, w, "us", off.Self)
	before := w.Shown()
	lease := w.Inject(t, host.Kinds(), fault.Request{Kind: "host.crash", On: fault.Selector{VCenter: "us"}, Mode: "all"})
	if len(lease.Targets) != 4 {
		t.Errorf("targets %+v", lease.Targets)
	}
	if r := w.Refused(t, host.Kinds(), fault.Request{Kind: "host.disconnect", On: faulttest.On("esx-east-1")}); r.Code != "conflict" {
		t.Errorf("another lease: %+v", r)
	}
	w.Heal(t, lease.ID)
	w.WaitUnchanged(before)
}

// TestTargetIsGone: a VM that is unregistered while it is orphaned is not missed by the healing.
func TestTargetIsGone(t *testing.T) {
	w := start(t, zones)
	vm := w.vm("us", "/dceast/vm/worker-east-1")
	powerOff(t, w, "us", vm.Self)
	lease := w.Inject(t, host.Kinds(), fault.Request{Kind: "vm.orphaned", On: faulttest.On("worker-east-1")})
	unregister(t, w, "us", vm.Self)
	w.Heal(t, lease.ID)
}
