package causality

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// finder returns one with an empty log, of vCenters us and eu, where worker-1 is the VM w1 of us.
func finder(t *testing.T) *Finder {
	t.Helper()
	top, err := scenarios.Load("zones-us-eu")
	if err != nil {
		t.Fatal(err)
	}
	return &Finder{
		Log: event.NewLog(0), Grace: 4 * time.Second, Topology: func() *topology.Topology { return top },
		VM: func(node string) (vcenter, vm string) {
			if node == "worker-1" {
				return "us", "w1"
			}
			return "", ""
		},
		Lease: func(string) (fault.Lease, bool) { return fault.Lease{}, false },
	}
}

// A cause is the newest event that can have had that effect, of this node or its VM and of no other. Without one,
// or if it was too long ago, no cause is given.
func TestCauses(t *testing.T) {
	node := func(kind string) event.Event {
		return event.Event{Plane: event.PlaneKubernetes, Kind: kind, Object: event.Object{Kind: "Node", Name: "worker-1"}}
	}
	vm := func(kind string) event.Event {
		return event.Event{Plane: event.PlaneVSphere, Kind: kind, Object: event.Object{Kind: "VM", VCenter: "us", Name: "w1"}}
	}
	other := func(e event.Event, vcenter, name string) event.Event {
		e.Object.VCenter, e.Object.Name = vcenter, name
		return e
	}
	old := func(e event.Event) event.Event { e.Time = time.Now().Add(-time.Hour); return e }
	for _, tc := range []struct {
		name string
		log  []event.Event
		kind string
		want uint64
	}{
		{"silence after power-off", []event.Event{vm("vm.powered-off"), node("child.stopped")}, "node.unknown", 2},
		{"silence after suspend", []event.Event{vm("vm.suspended"), vm("guest.down")}, "node.unknown", 1},
		{"what came back later is no cause of silence", []event.Event{node("child.stopped"), vm("guest.up"), node("child.started")}, "node.unknown", 1},
		{"taint after NotReady", []event.Event{node("child.stopped"), node("node.unknown")}, "node.tainted", 2},
		{"ready after start", []event.Event{vm("guest.up"), node("child.started"), node("node.registered")}, "node.ready", 2},
		{"ready after resume", []event.Event{vm("vm.powered-on"), vm("guest.up")}, "node.ready", 2},
		{"deleted after destroy", []event.Event{vm("vm.destroyed"), node("child.stopped"), node("node.unknown")}, "node.deleted", 1},
		{"deleted by hand", []event.Event{node("child.stopped")}, "node.deleted", 0},
		{"deleted long after destroy, when the doubt is over", []event.Event{old(vm("vm.destroyed"))}, "node.deleted", 1},
		{"deleted by hand, another VM's node", []event.Event{vm("vm.destroyed"), node("node.registered")}, "node.deleted", 0},
		{"another vCenter's VM", []event.Event{other(vm("vm.suspended"), "eu", "w1")}, "node.unknown", 0},
		{"another VM", []event.Event{other(vm("vm.suspended"), "us", "w2")}, "node.unknown", 0},
		{"another node", []event.Event{other(node("child.stopped"), "", "worker-2")}, "node.unknown", 0},
		{"long ago", []event.Event{old(node("child.stopped"))}, "node.unknown", 0},
		{"a kind that nothing is known of", []event.Event{node("child.stopped")}, "node.odd", 0},
	} {
		f := finder(t)
		for _, e := range tc.log {
			f.Log.Append(e)
		}
		if got := f.OfNode("worker-1", tc.kind); got != tc.want {
			t.Errorf("%s: cause %d, want %d", tc.name, got, tc.want)
		}
	}
}

func TestCauseOfAProcess(t *testing.T) {
	f := finder(t)
	vm := func(kind string) uint64 {
		return f.Log.Append(event.Event{Plane: event.PlaneVSphere, Kind: kind, Object: event.Object{Kind: "VM", VCenter: "us", Name: "w1"}})
	}
	up, off := vm("guest.up"), vm("vm.powered-off")
	f.Log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "guest.up", Object: event.Object{VCenter: "us", Name: "w1"}}) // not seen on the vCenter
	about := func(name string) func(event.Event) bool {
		return func(e event.Event) bool { return e.Object.VCenter == "us" && e.Object.Name == name }
	}
	for _, tc := range []struct {
		state child.State
		vm    string
		want  uint64
	}{{child.Started, "w1", up}, {child.Stopped, "w1", off}, {child.Exited, "w1", 0}, {child.Restarting, "w1", 0}, {child.Started, "w2", 0}} {
		if got := f.OfProcess(tc.state, about(tc.vm)); got != tc.want {
			t.Errorf("%s of %s: %d, want %d", tc.state, tc.vm, got, tc.want)
		}
	}
	reset := vm("vm.reset")
	if got := f.OfProcess(child.Stopped, about("w1")); got != reset {
		t.Errorf("after a reset: %d, want %d", got, reset)
	}
}

// Of two taints of a node that does not answer, one comes from its silence and one from the user's command.
func TestCauseOfATaint(t *testing.T) {
	f := finder(t)
	about := event.Object{Kind: "Node", Name: "a"}
	silent := f.Log.Append(event.Event{Plane: event.PlaneKubernetes, Kind: "node.unknown", Object: about})
	said := f.Log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "command.out-of-service", Object: about})
	f.Log.Append(event.Event{Plane: event.PlaneSandbox, Kind: "command.out-of-service", Object: event.Object{Kind: "Node", Name: "b"}})
	for _, tc := range []struct {
		what string
		got  uint64
		want uint64
	}{
		{"unreachable", f.OfTaint("a", "node.kubernetes.io/unreachable"), silent},
		{"out of service", f.OfTaint("a", "node.kubernetes.io/out-of-service"), said},
		{"in service again", f.OfTaintRemoved("a", "node.kubernetes.io/out-of-service"), said},
		{"by hand", f.OfTaint("c", "node.kubernetes.io/out-of-service"), 0},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: cause %d, want %d", tc.what, tc.got, tc.want)
		}
	}
}

// What the cloud provider says has its cause in what was done to a vCenter, a VM, the credentials or the configuration, however
// long ago where it is still so.
func TestCausesOfClusterEvents(t *testing.T) {
	of := func(kind, what, vcenter, name string) event.Event {
		return event.Event{Kind: kind, Object: event.Object{Kind: what, VCenter: vcenter, Name: name}}
	}
	vcenter := func(kind, name string) event.Event { return of(kind, "VCenter", name, name) }
	node := func(kind, message string) event.Event {
		e := of(kind, "Node", "", "worker-1")
		e.Message = message
		return e
	}
	tag := func(vcenter, label string) event.Event {
		e := of("tag.attached", "Datacenter", vcenter, "dc")
		e.Message = "tag " + label + " attached by somebody"
		return e
	}
	vm := func(kind string) event.Event { return of(kind, "VM", "us", "w1") }
	old := func(e event.Event) event.Event { e.Time = time.Now().Add(-time.Hour); return e }
	var (
		changed   = of("ccm.config-changed", "ConfigMap", "", "vsphere-cloud-config")
		rotated   = of("ccm.credentials-changed", "Secret", "", "vsphere-cloud-secret")
		started   = of("child.started", "Component", "", "ccm")
		config    = func(kind string) event.Event { return of(kind, "Secret", "", "vsphere-cloud-secret") }
		heldBack  = node("ccm.deletion-held-back", `cannot confirm: vcenter "eu": not connected`)
		tagLacked = node("ccm.zone-tag-missing", `no tag on any of HostSystem "h", Datacenter "dc"`)
		well      = func(was string) event.Event { return node("ccm.node-well", "vm is found (was: "+was+")") }
	)
	for _, tc := range []struct {
		name string
		log  []event.Event
		e    event.Event
		want uint64
	}{
		{"down", []event.Event{vcenter("gate.down", "us"), vcenter("gate.down", "eu")}, vcenter("ccm.vcenter-unreachable", "us"), 1},
		{"down for long", []event.Event{old(vcenter("gate.hung", "eu"))}, vcenter("ccm.vcenter-unreachable", "eu"), 1},
		{"unreachable though it is up", []event.Event{vcenter("gate.down", "eu"), vcenter("gate.up", "eu")}, vcenter("ccm.vcenter-unreachable", "eu"), 0},
		{"unreachable by configuration", []event.Event{changed, vcenter("gate.up", "us")}, vcenter("ccm.vcenter-unreachable", "eu"), 1},
		{"up", []event.Event{vcenter("gate.down", "eu"), vcenter("gate.up", "eu"), vcenter("gate.up", "us")}, vcenter("ccm.vcenter-connected", "eu"), 2},
		{
			"connected at the start",
			[]event.Event{of("child.started", "Node", "us", "w1"), started, of("child.started", "Node", "us", "w2")},
			vcenter("ccm.vcenter-connected", "eu"), 2,
		},
		{"refused", []event.Event{rotated, vcenter("gate.down", "us")}, vcenter("ccm.vcenter-login-failed", "eu"), 1},
		{"refused, nobody knows why", []event.Event{old(rotated)}, vcenter("ccm.vcenter-login-failed", "eu"), 0},
		{"credentials missing", []event.Event{rotated}, vcenter("ccm.vcenter-credentials-missing", "eu"), 1},

		{"reloaded", []event.Event{old(changed), changed}, config("ccm.config-reloaded"), 2},
		{"needs a restart", []event.Event{changed}, config("ccm.config-needs-restart"), 1},
		{"reloaded for another reason", []event.Event{old(changed)}, config("ccm.config-reloaded"), 0},
		{"of the Secret, and not of the configuration", []event.Event{changed}, config("ccm.odd"), 0},

		{"held back, unreachable", []event.Event{vcenter("gate.down", "eu"), vcenter("ccm.vcenter-unreachable", "eu")}, heldBack, 2},
		{"held back, as was said long ago", []event.Event{old(vcenter("ccm.vcenter-login-failed", "eu"))}, heldBack, 1},
		{"held back before anything was said", []event.Event{vcenter("ccm.vcenter-connected", "eu"), vcenter("gate.down", "eu")}, heldBack, 2},
		{"held back for another vCenter", []event.Event{vcenter("ccm.vcenter-unreachable", "us")}, heldBack, 0},
		{"no more", []event.Event{vcenter("ccm.vcenter-connected", "eu"), vm("guest.up")}, well("DeletionHeldBack"), 1},

		{"tag lacked", []event.Event{
			of("tag.detached", "Datacenter", "us", "dc"), of("tag.detached", "Datacenter", "us", "dc2"),
			of("tag.detached", "Datacenter", "eu", "dc"),
		}, tagLacked, 1},
		{"tag lacked from the start", []event.Event{of("tag.attached", "Datacenter", "us", "dc")}, tagLacked, 0},
		{"tag there", []event.Event{tag("us", "k8s-zone/z"), tag("eu", "k8s-zone/z"), tag("us", "other/z")}, well("ZoneTagMissing"), 1},

		{"off", []event.Event{vm("vm.powered-off"), vm("guest.down")}, node("ccm.guest-not-reporting", "x"), 2},
		{"back", []event.Event{vm("guest.up"), vcenter("ccm.vcenter-connected", "us")}, well("GuestNotReporting"), 1},
		{"gone", []event.Event{old(vm("vm.destroyed"))}, node("ccm.vm-gone", "x"), 1},
		{"well after what nobody knows of", []event.Event{vm("guest.up")}, well("Odd"), 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := finder(t)
			for _, e := range tc.log {
				f.Log.Append(e)
			}
			if got := f.OfCCMEvent(tc.e); got != tc.want {
				t.Errorf("cause %d, want %d", got, tc.want)
			}
		})
	}
}

// An effect without a separate event has the fault as its cause, as long as the fault lasts.
func TestCausesInFaults(t *testing.T) {
	about := func(kind, what, vcenter, name, message string) event.Event {
		return event.Event{Kind: kind, Object: event.Object{Kind: what, VCenter: vcenter, Name: name}, Message: message}
	}
	vcenter := func(kind, message string) event.Event { return about(kind, "VCenter", "eu", "eu", message) }
	old := func(e event.Event) event.Event { e.Time = time.Now().Add(-time.Hour); return e }
	var (
		down   = vcenter("fault.injected", "f1: vcenter.down on eu for 30s")
		up     = vcenter("fault.healed", "f1: vcenter.down on eu")
		other  = about("fault.injected", "VCenter", "us", "us", "f2: vcenter.hang on us")
		locked = vcenter("fault.injected", "f3: vcenter.account-locked on eu")
		vmOff  = about("fault.injected", "VM", "us", "w1", "f4: vm.power-off on us/w1")
		empty  = about("fault.injected", "VM", "us", "w1", "f5: guest.hostname-empty on us/w1")
	)
	for _, tc := range []struct {
		name string
		log  []event.Event
		e    event.Event
		want uint64
	}{
		{"unreachable", []event.Event{down, other}, vcenter("ccm.vcenter-unreachable", ""), 1},
		{"unreachable for long", []event.Event{old(down)}, vcenter("ccm.vcenter-unreachable", ""), 1},
		{"unreachable after the fault", []event.Event{down, up}, vcenter("ccm.vcenter-unreachable", ""), 0},
		{"connected", []event.Event{down, up}, vcenter("ccm.vcenter-connected", ""), 2},
		{"connected while another lasts", []event.Event{down, up, other}, vcenter("ccm.vcenter-connected", ""), 2},
		{"login refused", []event.Event{locked}, vcenter("ccm.vcenter-login-failed", ""), 1},
		{"in doubt", []event.Event{down}, about("ccm.deletion-held-back", "Node", "", "worker-1", `cannot confirm: vcenter "eu": not connected`), 1},
		{"not of the guest", []event.Event{vmOff}, about("ccm.guest-not-reporting", "Node", "", "worker-1", ""), 0},
		{"of the guest", []event.Event{empty, vmOff}, about("ccm.guest-not-reporting", "Node", "", "worker-1", ""), 1},
		{"no fault's words", []event.Event{vcenter("fault.injected", "vcenter.down")}, vcenter("ccm.vcenter-unreachable", ""), 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := finder(t)
			for _, e := range tc.log {
				f.Log.Append(e)
			}
			if got := f.OfCCMEvent(tc.e); got != tc.want {
				t.Errorf("cause %d, want %d", got, tc.want)
			}
		})
	}
}

func TestKebab(t *testing.T) {
	for reason, want := range map[string]string{
		"VCenterLoginFailed": "vcenter-login-failed", "VMGone": "vm-gone", "ConfigReloaded": "config-reloaded", "NodeWell": "node-well",
		"ForeignProviderID": "foreign-provider-id", "VMNotFound": "vm-not-found", "odd": "odd", "": "", "ÄÖ": "äö",
	} {
		if got := Kebab(reason); got != want {
			t.Errorf("%s: %s, want %s", reason, got, want)
		}
	}
}

func TestOngoing(t *testing.T) {
	var c Ongoing
	one := c.Begin("x", 1)
	two := c.Begin("x", 2)
	other := c.Begin("y", 3)
	var got []uint64
	see := func() { got = append(got, c.Of("x")) }
	see()
	one()
	one()
	see()
	two()
	see()
	if c.Of("y") != 3 {
		t.Error("y is lost")
	}
	other()
	if diff := cmp.Diff([]uint64{2, 2, 0}, got); diff != "" || len(c.seqs) != 0 {
		t.Errorf("%v, %v", fmt.Sprint(got), c.seqs)
	}
}
