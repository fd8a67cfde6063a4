package sandbox

import (
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

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
		changed   = of("ccm.config-changed", "ConfigMap", "", cloudConfigMap)
		rotated   = of("ccm.credentials-changed", "Secret", "", cloudSecret)
		started   = of("child.started", "Component", "", ccmComponent)
		config    = func(kind string) event.Event { return of(kind, "Secret", "", cloudSecret) }
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
			s := newSandbox(t, "zones-us-eu")
			s.nodes.bound["worker-1"] = bound{vcenter: "us", vm: "w1"}
			for _, e := range tc.log {
				s.log.Append(e)
			}
			if got := s.causeOfClusterEvent(tc.e); got != tc.want {
				t.Errorf("cause %d, want %d", got, tc.want)
			}
		})
	}
}
