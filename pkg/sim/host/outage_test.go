package host_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/host"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

func disconnect(r *rig, h *object.HostSystem) {
	r.t.Helper()
	done(r.t)(h.Disconnect(r.t.Context()))
}

func TestDisconnectAndReconnect(t *testing.T) {
	r := setup(t, host.Options{})
	hosts, vm := r.clustered()
	h := r.hostOf(vm)
	n, before := len(r.events()), r.cluster().Summary.GetComputeResourceSummary()

	disconnect(r, h)
	got := r.host(hostName(r, h))
	if s := got.Runtime; s.ConnectionState != types.HostSystemConnectionStateDisconnected || s.PowerState != types.HostSystemPowerStateUnknown ||
		got.Summary.Runtime.ConnectionState != s.ConnectionState || got.OverallStatus != types.ManagedEntityStatusGray {
		t.Errorf("disconnected: %+v, %s", s, got.OverallStatus)
	}
	for _, ref := range got.Vm {
		if m := r.vm(ref); m.Runtime.ConnectionState != types.VirtualMachineConnectionStateDisconnected ||
			m.Summary.Runtime.ConnectionState != m.Runtime.ConnectionState || m.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
			t.Errorf("VM of a disconnected host: %+v", m.Runtime)
		}
	}
	if s := r.cluster().Summary.GetComputeResourceSummary(); s.NumEffectiveHosts != 2 || s.NumHosts != 3 || s.TotalCpu != before.TotalCpu {
		t.Errorf("cluster: %+v", s)
	}
	want := []string{"HostDisconnectedEvent"}
	for range got.Vm {
		want = append(want, "VmDisconnectedEvent")
	}
	if diff := cmp.Diff(want, r.history(n)); diff != "" {
		t.Errorf("events -want +got:\n%s", diff)
	}

	refused(t, new(types.InvalidState))(h.Disconnect(t.Context()))
	v := object.NewVirtualMachine(r.client, vm)
	refused(t, new(types.HostNotConnected))(v.PowerOff(t.Context()))
	refused(t, new(types.HostNotConnected))(v.Destroy(t.Context()))
	refused(t, new(types.HostNotConnected))(h.EnterMaintenanceMode(t.Context(), 0, false, nil))

	n = len(r.events())
	done(t)(h.Reconnect(t.Context(), nil, nil))
	if got := r.host(hostName(r, h)); got.Runtime.ConnectionState != types.HostSystemConnectionStateConnected ||
		got.Runtime.PowerState != types.HostSystemPowerStatePoweredOn || got.OverallStatus != types.ManagedEntityStatusGreen {
		t.Errorf("reconnected: %+v", got.Runtime)
	}
	if m := r.vm(vm); m.Runtime.ConnectionState != types.VirtualMachineConnectionStateConnected {
		t.Errorf("VM of a reconnected host: %+v", m.Runtime)
	}
	if s := r.cluster().Summary.GetComputeResourceSummary(); s.NumEffectiveHosts != int32(len(hosts)) {
		t.Errorf("cluster: %+v", s)
	}
	refused(t, new(types.InvalidState))(h.Reconnect(t.Context(), nil, nil))
	if got := r.history(n); got[len(got)-1] != "HostConnectedEvent" {
		t.Errorf("events %v", got)
	}
	if diff := cmp.Diff([]string{"host.disconnected", "host.connected"}, r.kinds("Host", 0)); diff != "" {
		t.Errorf("our events -want +got:\n%s", diff)
	}
}

func hostName(r *rig, h *object.HostSystem) string {
	name, err := h.ObjectName(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return name
}

// TestPowerOnOfADisconnectedHost succeeds in vcsim.
func TestPowerOnOfADisconnectedHost(t *testing.T) {
	r := setup(t, host.Options{})
	_, vm := r.clustered()
	v := object.NewVirtualMachine(r.client, vm)
	done(t)(v.PowerOff(t.Context()))
	disconnect(r, r.hostOf(vm))
	refused(t, new(types.HostNotConnected))(v.PowerOn(t.Context()))
	if err := v.Unregister(t.Context()); err != nil {
		t.Errorf("a VM of a disconnected host cannot be removed from the inventory: %v", err)
	}
}

// recorder records the names of the changes, as watchers get them.
type recorder struct{ names map[string][]string }

func (r *recorder) Reference() ref                             { return ref{Type: "Recorder", Value: "recorder"} }
func (r *recorder) PutObject(*simulator.Context, mo.Reference) {}
func (r *recorder) RemoveObject(*simulator.Context, ref)       {}
func (r *recorder) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	for _, c := range changes {
		r.names[obj.Reference().Type] = append(r.names[obj.Reference().Type], c.Name)
	}
}

// TestWatchersAreNotified of each property by its own name, in the runtime and in the summary, and of nothing twice.
func TestWatchersAreNotified(t *testing.T) {
	r := setup(t, host.Options{})
	_, vm := r.clustered()
	h := r.hostOf(vm)
	record := &recorder{names: map[string][]string{}}
	r.base.Map.AddHandler(record)
	must(t, r.hosts.Crash(t.Context(), h.Reference()))
	r.base.Map.RemoveHandler(record)
	want := map[string][]string{
		"HostSystem": {
			"runtime.connectionState", "summary.runtime.connectionState", "runtime.powerState", "summary.runtime.powerState",
			"overallStatus", "summary.overallStatus",
		},
		"ClusterComputeResource": {"summary", "overallStatus"},
	}
	for range r.host(hostName(r, h)).Vm {
		want["VirtualMachine"] = append(want["VirtualMachine"],
			"runtime.connectionState", "summary.runtime.connectionState", "overallStatus", "summary.overallStatus")
	}
	if diff := cmp.Diff(want, record.names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestStock leaves everything to vcsim.
func TestStock(t *testing.T) {
	r := setup(t, host.Options{Stock: stock.Set{stock.Hosts}})
	_, vm := r.clustered()
	h := r.hostOf(vm)
	n := len(r.events())
	disconnect(r, h)
	disconnect(r, h)
	if m := r.vm(vm); m.Runtime.ConnectionState != types.VirtualMachineConnectionStateConnected || len(r.events()) != n {
		t.Errorf("%s, %d events", m.Runtime.ConnectionState, len(r.events())-n)
	}
	_, err := methods.ShutdownHost_Task(t.Context(), r.client, &types.ShutdownHost_Task{This: h.Reference(), Force: true})
	if err == nil {
		t.Error("vcsim has learned to shut down hosts")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestCrashAndRecover(t *testing.T) {
	var causes []uint64
	r := setup(t, host.Options{Causing: func(_ ref, seq uint64) func() { causes = append(causes, seq); return func() {} }})
	_, vm := r.clustered()
	h := r.hostOf(vm)
	name := hostName(r, h)
	n, boot := len(r.events()), *r.host(name).Runtime.BootTime

	release := r.hosts.Causing(h.Reference(), 4711)
	must(t, r.hosts.Crash(t.Context(), h.Reference()))
	got := r.host(name)
	if s := got.Runtime; s.ConnectionState != types.HostSystemConnectionStateNotResponding || s.PowerState != types.HostSystemPowerStateUnknown ||
		got.OverallStatus != types.ManagedEntityStatusRed || got.Summary.OverallStatus != types.ManagedEntityStatusRed {
		t.Errorf("crashed: %+v, %s", s, got.OverallStatus)
	}
	// The vCenter keeps the power state that it knew.
	if m := r.vm(vm).Runtime; m.ConnectionState != types.VirtualMachineConnectionStateDisconnected || m.PowerState != types.VirtualMachinePowerStatePoweredOn {
		t.Errorf("VM: %+v", m)
	}
	if c := r.cluster(); c.OverallStatus != types.ManagedEntityStatusYellow || c.Summary.GetComputeResourceSummary().NumEffectiveHosts != 2 {
		t.Errorf("cluster: %s %+v", c.OverallStatus, c.Summary)
	}
	refused(t, new(types.HostNotReachable))(object.NewVirtualMachine(r.client, vm).PowerOff(t.Context()))
	refused(t, new(types.InvalidState))(h.Reconnect(t.Context(), nil, nil))
	if !r.hosts.Dead(h.Reference()) || r.hosts.Usable(h.Reference()) {
		t.Error("a crashed host is not dead")
	}
	if err := r.hosts.Crash(t.Context(), h.Reference()); err == nil {
		t.Error("it crashed twice")
	}
	if err := r.hosts.Isolate(t.Context(), h.Reference()); err == nil {
		t.Error("a crashed host was isolated")
	}
	if got := r.history(n); got[len(got)-1] != "HostConnectionLostEvent" {
		t.Errorf("events %v", got)
	}

	n = len(r.events())
	must(t, r.hosts.Recover(t.Context(), h.Reference()))
	release()
	if got := r.host(name); got.Runtime.ConnectionState != types.HostSystemConnectionStateConnected || !got.Runtime.BootTime.After(boot) {
		t.Errorf("recovered: %+v", got.Runtime)
	}
	if m := r.vm(vm).Runtime; m.ConnectionState != types.VirtualMachineConnectionStateConnected || m.PowerState != types.VirtualMachinePowerStatePoweredOff {
		t.Errorf("VM: %+v", m)
	}
	if got := r.history(n); !slices.Contains(got, "VmPoweredOffEvent") || got[len(got)-1] != "HostConnectedEvent" {
		t.Errorf("events %v", got)
	}
	if err := r.hosts.Recover(t.Context(), h.Reference()); err == nil {
		t.Error("it recovered twice")
	}
	done(t)(object.NewVirtualMachine(r.client, vm).PowerOn(t.Context()))
	if diff := cmp.Diff([]string{"host.crashed", "host.connected"}, r.kinds("Host", 0)); diff != "" {
		t.Errorf("our events -want +got:\n%s", diff)
	}
	events, _ := r.log.Read(0, 0)
	if !slices.Contains(r.kinds("VM", 0), "vm.died") || events[0].Cause != 4711 || events[1].Kind != "vm.disconnected" || events[1].Cause != events[0].Seq || len(causes) == 0 {
		t.Errorf("causes: %+v, %v", events, causes)
	}
}

// TestIsolation: the VMs of a host without a network run on.
func TestIsolation(t *testing.T) {
	r := setup(t, host.Options{})
	_, vm := r.clustered()
	h := r.hostOf(vm)
	boot := *r.host(hostName(r, h)).Runtime.BootTime
	must(t, r.hosts.Isolate(t.Context(), h.Reference()))
	if r.host(hostName(r, h)).Runtime.ConnectionState != types.HostSystemConnectionStateNotResponding || r.hosts.Dead(h.Reference()) {
		t.Error("isolated")
	}
	must(t, r.hosts.Recover(t.Context(), h.Reference()))
	if m := r.vm(vm).Runtime; m.ConnectionState != types.VirtualMachineConnectionStateConnected || m.PowerState != types.VirtualMachinePowerStatePoweredOn {
		t.Errorf("VM: %+v", m)
	}
	if !r.host(hostName(r, h)).Runtime.BootTime.Equal(boot) {
		t.Error("it has booted")
	}
}

// TestCrashOfADisconnectedHost: the crash is noticed when a user connects the host.
func TestCrashOfADisconnectedHost(t *testing.T) {
	r := setup(t, host.Options{})
	_, vm := r.clustered()
	h := r.hostOf(vm)
	disconnect(r, h)
	n := len(r.events())
	must(t, r.hosts.Crash(t.Context(), h.Reference()))
	if len(r.events()) != n || r.host(hostName(r, h)).Runtime.ConnectionState != types.HostSystemConnectionStateDisconnected {
		t.Errorf("noticed: %v", r.history(n))
	}
	refused(t, new(types.NoHost))(h.Reconnect(t.Context(), nil, nil))
	must(t, r.hosts.Recover(t.Context(), h.Reference()))
	done(t)(h.Reconnect(t.Context(), nil, nil))
	if m := r.vm(vm).Runtime; m.PowerState != types.VirtualMachinePowerStatePoweredOff {
		t.Errorf("VM: %+v", m)
	}
}

func TestOperatorErrors(t *testing.T) {
	r := setup(t, host.Options{})
	hosts, _ := r.clustered()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	nothing := ref{Type: "HostSystem", Value: "host-0"}
	for name, err := range map[string]error{
		"no host":      r.hosts.Crash(t.Context(), nothing),
		"no VM":        r.hosts.Hide(t.Context(), nothing, types.VirtualMachineConnectionStateOrphaned),
		"no datastore": r.hosts.LoseDatastore(t.Context(), nothing),
		"too late":     r.hosts.Crash(ended, hosts[0].Reference()),
		"all is well":  r.hosts.Recover(t.Context(), hosts[0].Reference()),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
