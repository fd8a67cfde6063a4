package guest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vms/bench"
)

// is compares properties: "path=value".
func is(pairs ...string) func(bench.T, *bench.VM, bench.Snapshot, bench.Snapshot) {
	return func(t bench.T, _ *bench.VM, _, now bench.Snapshot) {
		t.Helper()
		for _, pair := range pairs {
			path, want, _ := strings.Cut(pair, "=")
			if now[path] != want {
				t.Errorf("%s is %q, want %q", path, now[path], want)
			}
		}
		if now["runtime.powerState"] != "poweredOn" || now["config.uuid"] == "" {
			t.Errorf("power state %s, UUID %s", now["runtime.powerState"], now["config.uuid"])
		}
	}
}

// addresses lists what the NICs have: "nodes 10.0.0.11 2001:db8::11".
func addresses(p bench.Snapshot) (all []string) {
	for i := 0; p[fmt.Sprintf("guest.net[%d].macAddress", i)] != ""; i++ {
		nic := p[fmt.Sprintf("guest.net[%d].network", i)]
		for j := 0; p[fmt.Sprintf("guest.net[%d].ipAddress[%d]", i, j)] != ""; j++ {
			nic += " " + p[fmt.Sprintf("guest.net[%d].ipAddress[%d]", i, j)]
			if p[fmt.Sprintf("guest.net[%d].ipConfig.ipAddress[%d].ipAddress", i, j)] != p[fmt.Sprintf("guest.net[%d].ipAddress[%d]", i, j)] {
				nic += "?"
			}
		}
		all = append(all, nic)
	}
	return all
}

// reports compares the addresses, primary first.
func reports(primary string, want ...string) func(bench.T, *bench.VM, bench.Snapshot, bench.Snapshot) {
	return func(t bench.T, b *bench.VM, was, now bench.Snapshot) {
		t.Helper()
		is("guest.ipAddress="+primary, "summary.guest.ipAddress="+primary, "guest.hostName="+was["guest.hostName"],
			"guest.toolsRunningStatus=guestToolsRunning", "search.hostName=node-1")(t, b, was, now)
		if got := addresses(now); strings.Join(got, ", ") != strings.Join(want, ", ") {
			t.Errorf("reports %q, want %q", got, want)
		}
	}
}

// named compares the name; everything else is as it was.
func named(want string) func(bench.T, *bench.VM, bench.Snapshot, bench.Snapshot) {
	return func(t bench.T, b *bench.VM, was, now bench.Snapshot) {
		t.Helper()
		found := ""
		if strings.EqualFold(want, was["guest.hostName"]) {
			found = "node-1"
		}
		is("guest.hostName="+want, "summary.guest.hostName="+want, "guest.ipAddress=10.0.0.11", "search.hostName="+found, "search.ip=node-1",
			"guest.toolsRunningStatus=guestToolsRunning")(t, b, was, now)
		caused(t, b)
	}
}

func caused(t bench.T, b *bench.VM) {
	t.Helper()
	leases := b.Engine(t, nil).Leases()
	events := b.EventsOf("guest.changed")
	if len(events) == 0 || events[len(events)-1].Cause != leases[len(leases)-1].Seq {
		t.Errorf("no guest.changed with cause %d in %+v", leases[len(leases)-1].Seq, events)
	}
}

func TestKinds(t *testing.T) {
	pseudo := make([]string, 16)
	for i := range pseudo {
		pseudo[i] = fmt.Sprintf(" 10.244.0.%d", 2+i)
	}
	nodes, storage, pods := "nodes 10.0.0.11 2001:db8::11", "storage 10.1.0.11", "pods 10.2.0.11"
	cases := []bench.Case{
		{
			Kind: "guest.tools-stopped", PlanText: "stop VMware Tools",
			Effect: is("guest.hostName=", "guest.ipAddress=", "guest.net[0].macAddress=", "summary.guest.hostName=", "summary.guest.ipAddress=",
				"guest.toolsRunningStatus=guestToolsNotRunning", "summary.guest.toolsRunningStatus=guestToolsNotRunning",
				"guestHeartbeatStatus=gray", "search.hostName=", "search.ip=", "search.uuid=node-1"),
		},
		{
			Name: "and asked to shut down", Kind: "guest.tools-stopped",
			Effect: func(t bench.T, b *bench.VM, _, _ bench.Snapshot) {
				if err := b.Other(t, "us", b.Path).ShutdownGuest(t.Context()); err == nil {
					t.Error("a guest without tools was asked to shut down")
				}
			},
		},
		{Name: "through a power cycle", Kind: "guest.tools-stopped", Effect: func(t bench.T, b *bench.VM, was, _ bench.Snapshot) {
			bench.PowerOff(t, b)
			bench.PowerOn(t, b)
			waitFor(t, b, "guest.up")
			is("guest.hostName=", "guest.toolsRunningStatus=guestToolsNotRunning")(t, b, was, b.Snapshot(t))
		}},
		{Kind: "guest.hostname-empty", PlanText: `report hostname ""`, Effect: named("")},
		{Name: "through a power cycle", Kind: "guest.hostname-empty", Effect: func(t bench.T, b *bench.VM, was, now bench.Snapshot) {
			bench.PowerOff(t, b)
			bench.PowerOn(t, b)
			named("")(t, b, was, b.Until(t, func(p bench.Snapshot) bool { return p["guest.ipAddress"] != "" }))
		}},
		{Kind: "guest.hostname-case", Effect: named("NODE-1.EXAMPLE.ORG")},
		{Kind: "guest.hostname-fqdn", On: "node-2", PlanText: "node-2.cluster.example.org", Effect: is("guest.hostName=node-2.cluster.example.org", "search.hostName=")},
		{Name: "domain", Kind: "guest.hostname-fqdn", On: "node-2", Params: map[string]string{"domain": "corp"}, Effect: is("guest.hostName=node-2.corp")},
		{Kind: "guest.hostname-short", Effect: named("node-1")},
		{Kind: "guest.hostname-wrong", Effect: named("localhost")},
		{Name: "as said", Kind: "guest.hostname-wrong", Params: map[string]string{"name": "other"}, Effect: named("other")},
		{
			Kind: "guest.ip-changed", PlanText: "other addresses",
			Effect: reports("10.0.0.13", "nodes 10.0.0.13 2001:db8::12", "storage 10.1.0.12", "pods 10.2.0.12"),
		},
		{
			Name: "as said", Kind: "guest.ip-changed", Params: map[string]string{"to": "10.0.0.99"},
			Effect: reports("10.0.0.99", "nodes 10.0.0.99 2001:db8::11", storage, pods),
		},
		{
			Name: "as said, IPv6", Kind: "guest.ip-changed", Params: map[string]string{"to": "2001:db8::99"},
			Effect: reports("10.0.0.11", "nodes 10.0.0.11 2001:db8::99", storage, pods),
		},
		{Kind: "guest.ip-removed", Effect: reports("", "nodes", "storage", "pods")},
		{Name: "ipv4", Kind: "guest.ip-removed", Params: map[string]string{"family": "ipv4"}, Effect: reports("2001:db8::11", "nodes 2001:db8::11", "storage", "pods")},
		{Name: "ipv6", Kind: "guest.ip-removed", Params: map[string]string{"family": "ipv6"}, Effect: reports("10.0.0.11", "nodes 10.0.0.11", storage, pods)},
		{Kind: "guest.ipv6-only", Effect: reports("2001:db8::11", "nodes 2001:db8::11", "storage fd00::a01:b", "pods fd00::a02:b")},
		{Kind: "guest.link-local-only", Effect: func(t bench.T, b *bench.VM, _, now bench.Snapshot) {
			for _, nic := range addresses(now) {
				if f := strings.Fields(nic); len(f) != 3 || !strings.HasPrefix(f[1], "169.254.") || !strings.HasPrefix(f[2], "fe80::") {
					t.Errorf("NIC %q", nic)
				}
			}
			if len(addresses(now)) != 3 || now["search.ip"] != "" {
				t.Errorf("reports %q, %q is found", addresses(now), now["search.ip"])
			}
		}},
		{Kind: "guest.nic-order", Effect: func(t bench.T, b *bench.VM, was, now bench.Snapshot) {
			reports("10.1.0.11", storage, nodes, pods)(t, b, was, now)
			if now["guest.net[0].deviceConfigId"] != was["guest.net[1].deviceConfigId"] {
				t.Error("the NICs have lost their devices")
			}
		}},
		{Kind: "guest.pseudo-nics", PlanText: "report 20 pseudo NICs", Effect: func(t bench.T, b *bench.VM, was, now bench.Snapshot) {
			reports("10.0.0.11", pseudo...)(t, b, was, now)
			is("guest.net[0].deviceConfigId=-1", "guest.net[15].deviceConfigId=-1", "guest.net[16].macAddress=")(t, b, was, now)
		}},
		{
			Name: "few", Kind: "guest.pseudo-nics", Params: map[string]string{"count": "2"},
			Effect: reports("10.0.0.11", pseudo[0], pseudo[1], nodes, storage, pods),
		},
		{
			Name: "after", Kind: "guest.pseudo-nics", Params: map[string]string{"place": "after"},
			Effect: reports("10.0.0.11", append([]string{nodes, storage, pods}, pseudo[:13]...)...),
		},
		{Kind: "guest.nic-info-empty", Effect: reports("10.0.0.11")},
	}
	for _, c := range cases {
		t.Run(c.Title(), func(t *testing.T) { c.Try(t, guest.Kinds()) })
	}
	bench.Complete(t, guest.Kinds(), cases)
}

func waitFor(t bench.T, b *bench.VM, kind string) {
	t.Helper()
	after := uint64(0)
	for len(b.EventsOf(kind)) == 0 {
		events, _, err := b.Events.Wait(t.Context(), after, 0)
		if err != nil {
			t.Fatal(err)
		}
		after = events[len(events)-1].Seq
	}
}

func TestRefused(t *testing.T) {
	var cases []bench.Refusal
	for _, k := range guest.Kinds() {
		cases = append(cases,
			bench.Refusal{Name: "off", Kind: k.Name, On: "off-1", Message: "is off"},
			bench.Refusal{Name: "template", Kind: k.Name, On: "tpl", Message: "template"},
			bench.Refusal{Name: "no tools", Kind: k.Name, On: "mute-1", Message: ""})
	}
	cases = append(cases, []bench.Refusal{
		{Name: "has a domain", Kind: "guest.hostname-fqdn", Message: "domain already"},
		{Name: "empty domain", Kind: "guest.hostname-fqdn", On: "node-2", Params: map[string]string{"domain": "."}, Code: "invalid", Message: "domain"},
		{Name: "has none", Kind: "guest.hostname-short", On: "node-2", Message: "no domain"},
		{Name: "empty name", Kind: "guest.hostname-wrong", Params: map[string]string{"name": ""}, Code: "invalid", Message: "empty"},
		{Name: "the right one", Kind: "guest.hostname-wrong", On: "node-2", Params: map[string]string{"name": "node-2"}, Message: "already"},
		{Name: "no address", Kind: "guest.ip-changed", Params: map[string]string{"to": "here"}, Code: "invalid", Message: "no IP address"},
		{Name: "no such family", Kind: "guest.ip-changed", On: "plain", Params: map[string]string{"to": "10.0.0.9"}, Message: "no address that could change"},
		{Name: "no such family", Kind: "guest.ip-removed", On: "node-2", Params: map[string]string{"family": "ipv6"}, Message: "no such address"},
		{Name: "no IPv4", Kind: "guest.ipv6-only", On: "plain", Message: "no IPv4"},
		{Name: "one NIC", Kind: "guest.nic-order", On: "node-2", Message: "1 NIC"},
		{Name: "none", Kind: "guest.pseudo-nics", Params: map[string]string{"count": "0"}, Code: "invalid", Message: "count"},
	}...)
	for _, c := range cases {
		t.Run(c.Title(), func(t *testing.T) { c.Try(t, guest.Kinds()) })
	}
}

// TestTogether: faults of the name and of the addresses are in force together, and each is healed for itself.
func TestTogether(t *testing.T) {
	b := bench.Start(t, "node-1")
	was := b.Snapshot(t)
	on := fault.Selector{Names: []string{"node-1"}}
	name := b.Inject(t, guest.Kinds(), fault.Request{Kind: "guest.hostname-case", On: on})
	ip := b.Inject(t, guest.Kinds(), fault.Request{Kind: "guest.ip-removed", On: on, Params: map[string]string{"family": "ipv4"}})
	tools := b.Inject(t, guest.Kinds(), fault.Request{Kind: "guest.tools-stopped", On: on})
	is("guest.hostName=", "guest.ipAddress=")(t, b, was, b.Snapshot(t))
	b.Heal(t, tools.ID)
	is("guest.hostName=NODE-1.EXAMPLE.ORG", "guest.ipAddress=2001:db8::11")(t, b, was, b.Snapshot(t))
	b.Heal(t, name.ID)
	is("guest.hostName=node-1.example.org", "guest.ipAddress=2001:db8::11")(t, b, was, b.Snapshot(t))
	b.Heal(t, ip.ID)
	is("guest.hostName=node-1.example.org", "guest.ipAddress=10.0.0.11")(t, b, was, b.Snapshot(t))
	_ = b.Refused(t, nil, fault.Request{Kind: "guest.hostname-short", On: fault.Selector{Names: []string{"node-2"}}})
}

// TestOthersGetOtherAddresses: two guests of a network do not get the same new address.
func TestOthersGetOtherAddresses(t *testing.T) {
	b := bench.Start(t, "node-1")
	lease := b.Inject(t, guest.Kinds(), fault.Request{Kind: "guest.ip-changed", On: fault.Selector{Names: []string{"node-1", "node-2"}}})
	other := b.Other(t, "us", "/west/vm/k8s/workers/node-2").Reference()
	info, err := b.Ground.VCenters[0].Sim.Guest(other)
	_ = info
	if !err {
		t.Fatal("no guest")
	}
	seen := map[string]bool{b.Snapshot(t)["guest.ipAddress"]: true}
	b.Ref = other
	if now := b.Snapshot(t)["guest.ipAddress"]; seen[now] || now == "10.0.0.12" || now == "" {
		t.Errorf("node-2 has %s, node-1 %v", now, seen)
	}
	b.Heal(t, lease.ID)
}

// TestOfAVMThatIsGone is nothing to heal.
func TestOfAVMThatIsGone(t *testing.T) {
	for _, kind := range []string{"guest.tools-stopped", "guest.ip-changed"} {
		b := bench.Start(t, "node-1")
		lease := b.Inject(t, guest.Kinds(), fault.Request{Kind: kind, On: fault.Selector{Names: []string{"node-1"}}})
		bench.Destroy(t, b)
		b.Heal(t, lease.ID)
	}
}
