package identity_test

import (
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/mo"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/identity"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vms/bench"
)

// is compares properties: "path=value".
func is(t bench.T, now bench.Snapshot, pairs ...string) {
	t.Helper()
	for _, pair := range pairs {
		path, want, _ := strings.Cut(pair, "=")
		if now[path] != want {
			t.Errorf("%s is %q, want %q", path, now[path], want)
		}
	}
}

// of reads UUID and hostname of another VM.
func of(t bench.T, b *bench.VM, vcenter, path string) (uuid, hostname string) {
	t.Helper()
	var m mo.VirtualMachine
	vm := b.Other(t, vcenter, path)
	if err := vm.Properties(t.Context(), vm.Reference(), []string{"config.uuid", "guest.hostName"}, &m); err != nil {
		t.Fatal(err)
	}
	return m.Config.Uuid, m.Guest.HostName
}

// uuidIs checks for a UUID, in both places, and that nothing else changed.
func uuidIs(t bench.T, was, now bench.Snapshot, want string) {
	t.Helper()
	is(t, now, "config.uuid="+want, "summary.config.uuid="+want, "config.instanceUuid="+was["config.instanceUuid"], "search.instanceUuid=node-1",
		"search.uuid=", "guest.hostName="+was["guest.hostName"], "runtime.powerState=poweredOn", "guest.ipAddress=10.0.0.11")
}

func TestKinds(t *testing.T) {
	cases := []bench.Case{
		{
			Kind: "identity.uuid-blank", PlanText: "take its UUID away",
			Effect: func(t bench.T, _ *bench.VM, was, now bench.Snapshot) { uuidIs(t, was, now, "") },
		},
		{Name: "off", Kind: "identity.uuid-blank", Before: bench.PowerOff, Effect: func(t bench.T, _ *bench.VM, _, now bench.Snapshot) { is(t, now, "config.uuid=") }},
		{Kind: "identity.uuid-swapped", Effect: func(t bench.T, _ *bench.VM, was, now bench.Snapshot) {
			u := was["config.uuid"]
			swapped := u[6:8] + u[4:6] + u[2:4] + u[0:2] + "-" + u[11:13] + u[9:11] + "-" + u[16:18] + u[14:16] + u[18:]
			uuidIs(t, was, now, swapped)
		}},
		{Kind: "identity.uuid-changed", Effect: func(t bench.T, _ *bench.VM, was, now bench.Snapshot) {
			if u := now["config.uuid"]; len(u) != 36 || u == was["config.uuid"] {
				t.Errorf("UUID %q, was %q", u, was["config.uuid"])
			}
			uuidIs(t, was, now, now["config.uuid"])
		}},
		{
			Name: "as said", Kind: "identity.uuid-changed", Params: map[string]string{"uuid": "11111111-2222-3333-4444-55555555ABCD"},
			Effect: func(t bench.T, _ *bench.VM, was, now bench.Snapshot) {
				uuidIs(t, was, now, "11111111-2222-3333-4444-55555555abcd")
			},
		},
		{
			Kind: "identity.uuid-duplicate", Params: map[string]string{"of": "node-2"}, PlanText: "the UUID of us/node-2",
			Effect: func(t bench.T, b *bench.VM, was, now bench.Snapshot) {
				uuid, _ := of(t, b, "us", "/west/vm/k8s/workers/node-2")
				uuidIs(t, was, now, uuid)
			},
		},
		{Name: "drawn", Kind: "identity.uuid-duplicate", Effect: func(t bench.T, b *bench.VM, was, now bench.Snapshot) {
			two, _ := of(t, b, "us", "/west/vm/k8s/workers/node-2")
			three, _ := of(t, b, "us", "/east/vm/node-3")
			if now["config.uuid"] != two && now["config.uuid"] != three {
				t.Errorf("UUID %s is no other node's", now["config.uuid"])
			}
		}},
		{Kind: "identity.uuid-duplicate-vcenter", PlanText: "eu/node-4", Effect: func(t bench.T, b *bench.VM, was, now bench.Snapshot) {
			uuid, _ := of(t, b, "eu", "/dc/vm/node-4")
			uuidIs(t, was, now, uuid)
		}},
		{Kind: "identity.hostname-duplicate", PlanText: `of us/node-2, "node-2"`, Effect: func(t bench.T, b *bench.VM, was, now bench.Snapshot) {
			is(t, now, "guest.hostName=node-2", "summary.guest.hostName=node-2", "config.uuid="+was["config.uuid"], "search.hostName=", "guest.ipAddress=10.0.0.11")
		}},
		{
			Name: "elsewhere", Kind: "identity.hostname-duplicate", Params: map[string]string{"where": "other", "of": "us/node-3"},
			Effect: func(t bench.T, _ *bench.VM, _, now bench.Snapshot) { is(t, now, "guest.hostName=node-3") },
		},
		{
			Name: "through a power cycle", Kind: "identity.hostname-duplicate", Params: map[string]string{"of": "node-2"},
			Effect: func(t bench.T, b *bench.VM, _, _ bench.Snapshot) {
				bench.PowerOff(t, b)
				bench.PowerOn(t, b)
				is(t, b.Until(t, func(p bench.Snapshot) bool { return p["guest.hostName"] != "" }), "guest.hostName=node-2")
			},
		},
	}
	for _, c := range cases {
		t.Run(c.Title(), func(t *testing.T) { c.Try(t, identity.Kinds()) })
	}
	bench.Complete(t, identity.Kinds(), cases)
}

func TestRefused(t *testing.T) {
	for _, c := range []bench.Refusal{
		{Name: "template", Kind: "identity.uuid-blank", On: "tpl", Message: "template"},
		{Name: "template", Kind: "identity.uuid-changed", On: "tpl", Message: "template"},
		{Name: "no UUID", Kind: "identity.uuid-changed", Params: map[string]string{"uuid": "x"}, Code: "invalid", Message: "uuid"},
		{Name: "itself", Kind: "identity.uuid-duplicate", Params: map[string]string{"of": "node-1"}, Code: "not-found", Message: "no other VM node-1"},
		{Name: "another vCenter", Kind: "identity.uuid-duplicate", Params: map[string]string{"of": "node-4"}, Code: "not-found", Message: "of its vCenter"},
		{Name: "this vCenter", Kind: "identity.uuid-duplicate-vcenter", Params: map[string]string{"of": "node-2"}, Code: "not-found", Message: "another vCenter"},
		{Name: "off", Kind: "identity.hostname-duplicate", On: "off-1", Message: "is off"},
		{Name: "elsewhere", Kind: "identity.hostname-duplicate", Params: map[string]string{"of": "node-3"}, Code: "not-found", Message: "in its datacenter"},
		{Name: "nobody", Kind: "identity.hostname-duplicate", On: "node-4", Message: "no other VM"},
	} {
		t.Run(c.Title(), func(t *testing.T) { c.Try(t, identity.Kinds()) })
	}
}

// TestOneAtATime: two faults of one UUID exclude each other, and a VM that is gone is nothing to heal.
func TestOneAtATime(t *testing.T) {
	b := bench.Start(t, "node-1")
	on := fault.Selector{Names: []string{"node-1"}}
	lease := b.Inject(t, identity.Kinds(), fault.Request{Kind: "identity.uuid-blank", On: on})
	if r := b.Refused(t, nil, fault.Request{Kind: "identity.uuid-changed", On: on}); r.Code != "conflict" {
		t.Errorf("%+v", r)
	}
	bench.Destroy(t, b)
	b.Heal(t, lease.ID)
}

// TestOnARealVCenter: what needs no simulator does without one.
func TestOnARealVCenter(t *testing.T) {
	for _, kind := range []string{"identity.uuid-changed", "identity.uuid-swapped", "identity.uuid-duplicate", "identity.uuid-duplicate-vcenter"} {
		t.Run(kind, func(t *testing.T) {
			b := bench.Start(t, "node-1")
			for i := range b.Ground.VCenters {
				b.Ground.VCenters[i].Sim = nil
			}
			was := b.Snapshot(t)
			lease := b.Inject(t, identity.Kinds(), fault.Request{Kind: kind, On: fault.Selector{Names: []string{"node-1"}}})
			if b.Snapshot(t)["config.uuid"] == was["config.uuid"] {
				t.Error("the UUID is the same")
			}
			b.Heal(t, lease.ID)
			if diff := bench.Diff(was, b.Snapshot(t)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
