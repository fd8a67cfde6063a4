package sample

import (
	"cmp"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// Began is when the run begins.
func Began() time.Time { return time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC) }

const ms = time.Millisecond

// Suite returns the run: a new one at each call.
func Suite() *result.Suite {
	return &result.Suite{
		Name: "core", Began: Began(), Took: 61300 * ms, Seed: 7, Speed: 10,
		CCM: "module:v1.36.0", CCMVersion: "v1.36.0", Version: "v0.1.0", KubernetesVersion: "v1.36.4",
		Boots:     []result.Boot{{Name: "scenario-1", Topology: "zones-us-eu", Began: Began(), Took: 9400 * ms}},
		Scenarios: []result.Scenario{passed(), failed(), errored(), skipped()},
	}
}

// Judged returns the same run as one of a release beside its baseline, with a regression, a known defect, and a table of calls.
func Judged() *result.Suite {
	s := Suite()
	s.Name, s.Baseline = "smoke", "module:v1.34.0"
	known := failed()
	known.Name, known.Judgment = "vcenter-down", result.Judgment{
		Trend: result.Same, Baseline: result.Failed, Known: "a VM that is off reports no hostname: no shutdown taint", Issues: []string{"cloud-provider-vsphere#479"}, Excused: true,
	}
	same := failed()
	same.Name, same.Judgment = "vcenter-slow", result.Judgment{Trend: result.Same, Baseline: result.Failed, Excused: true}
	s.Scenarios = append(s.Scenarios, known, same)
	s.Scenarios[0].Judgment = result.Judgment{Trend: result.Fixed, Baseline: result.Failed, Known: "no taint", Note: "was known to fail, and passes"}
	s.Scenarios[1].Judgment = result.Judgment{Trend: result.Regressed, Baseline: result.Passed, Must: true}
	s.Tables = []result.Table{{
		Title: "Calls to the vCenters", Header: []string{"calls to the vCenters", "module:v1.36.0", "module:v1.34.0", "ratio", "most of them"}, Numbers: 3,
		Rows: [][]string{{"start, until all nodes are initialized and ready", "142", "71", "2.00×", "SearchIndex.FindByUuid 90 (was 20)"}},
	}}
	return s
}

func passed() result.Scenario {
	at := Began().Add(9500 * ms)
	s := scenario("vm-powered-off", "lifecycle", "A VM is switched off and on again; its node is kept.", at)
	s.Verdict, s.Took = result.Passed, 14200*ms
	s.Reported = []string{"cloud-provider-vsphere#207", "cloud-provider-vsphere#185"}
	s.Steps = steps(at,
		result.Step{Line: 12, Action: "inject", Text: "vm.power-off on worker-west-1", Verdict: result.Passed, Took: 31 * ms, Message: "lease f1"},
		result.Step{Line: 16, Action: "expect", Text: "node worker-west-1 is not ready within 60s", Verdict: result.Passed, Took: 4750 * ms, Latency: 4732 * ms, Event: 75, Message: "Ready is Unknown"},
		result.Step{Line: 19, Action: "expect", Text: "node worker-west-1 has taint shutdown within 60s", Verdict: result.Passed, Took: 420 * ms, Latency: 5154 * ms, Event: 77},
		result.Step{Line: 22, Action: "never", Text: "node worker-west-1 is deleted for 5s", Verdict: result.Passed, Took: 5000 * ms},
		result.Step{Line: 25, Action: "heal", Text: "f1", Verdict: result.Passed, Took: 900 * ms},
		result.Step{Line: 26, Action: "expect", Text: "node worker-west-1 is ready without taints within 60s", Verdict: result.Passed, Took: 3100 * ms, Latency: 3050 * ms, Event: 83},
	)
	vm, node := object("VM", "us", "worker-west-1"), object("Node", "", "worker-west-1")
	s.Events = events(at,
		ev{70, 2, event.PlaneSandbox, "scenario.step", event.Object{}, "inject vm.power-off on worker-west-1", 0, ""},
		ev{71, 4, event.PlaneSandbox, "fault.injected", vm, "vm.power-off: powers the VM off, as pulling the plug does", 70, ""},
		ev{72, 31, event.PlaneVSphere, "vm.powered-off", vm, "powered off", 71, event.Warning},
		ev{73, 31, event.PlaneVSphere, "guest.down", vm, "guest stopped reporting", 72, ""},
		ev{74, 46, event.PlaneSandbox, "child.stopped", node, "node/worker-west-1: stopped", 72, ""},
		ev{75, 4763, event.PlaneKubernetes, "node.unknown", node, "Ready=Unknown: no heartbeat within the grace period", 74, event.Warning},
		ev{76, 4769, event.PlaneKubernetes, "node.tainted", node, "taint node.kubernetes.io/unreachable", 75, ""},
		ev{77, 5185, event.PlaneKubernetes, "node.tainted", node, "taint node.cloudprovider.kubernetes.io/shutdown", 75, ""},
		ev{78, 10240, event.PlaneSandbox, "fault.healed", vm, "vm.power-off: healed", 0, ""},
		ev{79, 10610, event.PlaneVSphere, "vm.powered-on", vm, "powered on", 78, ""},
		ev{80, 11120, event.PlaneVSphere, "guest.up", vm, "guest reports worker-west-1", 79, ""},
		ev{81, 11130, event.PlaneSandbox, "child.started", node, "node/worker-west-1: started", 80, ""},
		ev{82, 13270, event.PlaneKubernetes, "node.ready", node, "Ready=True", 81, ""},
		ev{83, 13290, event.PlaneKubernetes, "node.untainted", node, "taint node.cloudprovider.kubernetes.io/shutdown is gone", 82, ""},
	)
	return s
}

func failed() result.Scenario {
	at := Began().Add(24 * time.Second)
	s := scenario("vcenter-away", "outages", "One of two vCenters is away while a VM of the other is deleted; <b>no</b> node of the first may go.", at)
	s.Verdict, s.Took = result.Failed, 23800*ms
	s.Message = "line 21: never node worker-eu-1 is deleted: it was, after 8.12 s"
	s.Reported = []string{"cloud-provider-vsphere#479"}
	s.Parameters = map[string]string{"away": "20s", "workers": "2"}
	s.Lost = 3
	s.Steps = steps(at,
		result.Step{Line: 11, Action: "inject", Text: "vcenter.down on eu for 20s", Verdict: result.Passed, Took: 12 * ms, Message: "lease f2"},
		result.Step{Line: 14, Action: "inject", Text: "vm.destroy on worker-west-2", Verdict: result.Passed, Took: 84 * ms, Message: "lease f3"},
		result.Step{Line: 17, Action: "expect", Text: "node worker-west-2 is deleted within 60s", Verdict: result.Passed, Took: 7700 * ms, Latency: 7640 * ms, Event: 109},
		result.Step{
			Line: 21, Action: "never", Text: "node worker-eu-1 is deleted for 20s", Verdict: result.Failed, Took: 410 * ms, Latency: 8120 * ms, Event: 112,
			Message: "node worker-eu-1 was deleted 8.12 s after the injection; its VM is there",
			Detail:  "  node worker-eu-1\n-   exists: true\n+   exists: false\n  cause: #109 → #112 <script>alert(1)</script>",
		},
		result.Step{Line: 25, Action: "expect", Text: "calls of ccm to eu at most 20 since begin", Verdict: result.Skipped},
	)
	us, eu := object("VCenter", "us", "us"), object("VCenter", "eu", "eu")
	west, worker := object("VM", "us", "worker-west-2"), object("Node", "", "worker-eu-1")
	ccm := object("Component", "", "ccm")
	s.Events = events(at,
		ev{100, 3, event.PlaneSandbox, "fault.injected", eu, "vcenter.down: refuses connections", 0, ""},
		ev{101, 6, event.PlaneSandbox, "gate.down", eu, "connections are refused", 100, event.Warning},
		ev{102, 18, event.PlaneSandbox, "fault.injected", west, "vm.destroy: deletes the VM from disk", 0, ""},
		ev{103, 96, event.PlaneVSphere, "vm.powered-off", west, "powered off", 102, event.Warning},
		ev{104, 98, event.PlaneVSphere, "vm.destroyed", west, "destroyed", 102, event.Warning},
		ev{105, 110, event.PlaneSandbox, "child.stopped", object("Node", "", "worker-west-2"), "node/worker-west-2: stopped", 104, ""},
		ev{106, 612, event.PlaneKubernetes, "ccm.vcenter-unreachable", eu, "vCenter eu (127.0.0.12): connection refused", 101, event.Warning},
		ev{107, 5104, event.PlaneKubernetes, "node.unknown", object("Node", "", "worker-west-2"), "Ready=Unknown: no heartbeat within the grace period", 105, event.Warning},
		ev{108, 5500, event.PlaneKubernetes, "ccm.found", us, "looked for worker-west-2 in us", 107, ""},
		ev{109, 7658, event.PlaneKubernetes, "node.deleted", object("Node", "", "worker-west-2"), "deleted", 104, ""},
		ev{110, 7900, event.PlaneSandbox, "child.exited", ccm, "ccm: exit status 1: panic: runtime error", 106, event.Error},
		ev{111, 7960, event.PlaneSandbox, "child.started", ccm, "ccm: started", 110, ""},
		ev{112, 8123, event.PlaneKubernetes, "node.deleted", worker, "deleted \"></svg><script>alert(2)</script>", 106, event.Error},
		ev{113, 8130, event.PlaneSandbox, "child.stopped", worker, "node/worker-eu-1: stopped", 112, ""},
		ev{114, 20010, event.PlaneSandbox, "fault.healed", eu, "vcenter.down: time is over", 100, ""},
		ev{115, 20012, event.PlaneSandbox, "gate.up", eu, "connections are accepted", 114, ""},
		ev{116, 20480, event.PlaneKubernetes, "ccm.vcenter-connected", eu, "vCenter eu (127.0.0.12): connected", 115, ""},
	)
	return s
}

func errored() result.Scenario {
	at := Began().Add(48 * time.Second)
	s := scenario("zone-outage", "zones", "", at)
	s.Verdict, s.Took = result.Errored, 150*ms
	s.Message = "line 9: zone.outage on us-north: zone \"us-north\" not found"
	s.Steps = steps(at,
		result.Step{Line: 9, Action: "inject", Text: "zone.outage on us-north", Verdict: result.Errored, Took: 9 * ms, Message: "zone \"us-north\" not found; did you mean \"us-west\"?"},
		result.Step{Line: 10, Action: "expect", Text: "node worker-west-1 is not ready within 60s", Verdict: result.Skipped},
	)
	return s
}

func skipped() result.Scenario {
	s := scenario("real-only", "", "", Began().Add(49*time.Second))
	s.Verdict, s.Message, s.File = result.Skipped, "needs a real vCenter", "mine.yaml"
	return s
}

func scenario(name, theme, description string, at time.Time) result.Scenario {
	return result.Scenario{
		Name: name, Theme: theme, File: "scenarios/" + theme + "/" + name + ".yaml", Description: description, Began: at, Sandbox: "scenario-1",
		Seed: 7, Speed: 10, CCM: "module:v1.36.0", CCMVersion: "v1.36.0",
		World: result.World{
			Nodes: []api.Node{
				{Name: "control-plane-1", VM: "control-plane-1", VCenter: "us", Power: "on", Registered: true, Ready: "True", Initialized: true, Region: "us", Zone: "us-west", Addresses: []string{"198.18.0.11"}, ProviderID: "vsphere://42000000-0000-4000-8000-000000000001", Roles: []string{"control-plane"}},
				{Name: "worker-west-1", VM: "worker-west-1", VCenter: "us", Power: "off", Registered: true, Ready: "Unknown", Initialized: true, Region: "us", Zone: "us-west", Taints: []string{"node.kubernetes.io/unreachable:NoSchedule", "node.cloudprovider.kubernetes.io/shutdown:NoSchedule"}, Addresses: []string{"198.18.0.12"}, ProviderID: "vsphere://42000000-0000-4000-8000-000000000002"},
				{Name: "worker-eu-1", VM: "worker-eu-1", VCenter: "eu", Power: "on", Addresses: []string{"198.18.0.13"}},
			},
			VMs:   []api.VM{{Name: "worker-west-1", VCenter: "us", Power: "off", UUID: "42000000-0000-4000-8000-000000000002"}},
			Hosts: []api.Host{{Name: "esx-1", VCenter: "us", Connection: "connected"}},
		},
		Calls: []api.Calls{
			{VCenter: "us", Client: "ccm", Method: "WaitForUpdatesEx", Calls: 12},
			{VCenter: "us", Client: "ccm", Method: "RetrievePropertiesEx", Calls: 3},
			{VCenter: "eu", Client: "ccm", Method: "Login", Calls: 9, Errors: 8},
		},
	}
}

// steps numbers steps, each beginning at the end of the one before.
func steps(at time.Time, all ...result.Step) []result.Step {
	for i := range all {
		all[i].Index = i + 1
		if all[i].Verdict != result.Skipped {
			all[i].Began = at
			at = at.Add(all[i].Took)
		}
	}
	return all
}

// ev returns an event.
type ev struct {
	seq     uint64
	after   int // ms
	plane   event.Plane
	kind    string
	object  event.Object
	message string
	cause   uint64
	level   event.Level
}

func events(at time.Time, all ...ev) []event.Event {
	out := make([]event.Event, 0, len(all))
	for _, e := range all {
		e.level = cmp.Or(e.level, event.Info)
		out = append(out, event.Event{
			Seq: e.seq, Time: at.Add(time.Duration(e.after) * ms), Plane: e.plane, Level: e.level, Kind: e.kind, Object: e.object, Message: e.message, Cause: e.cause,
		})
	}
	return out
}

func object(kind, vcenter, name string) event.Object {
	return event.Object{Kind: kind, VCenter: vcenter, Name: name}
}
