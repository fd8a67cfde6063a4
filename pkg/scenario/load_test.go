package scenario_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Steps that make no sense are refused, with the line and what was probably meant.
func TestRefused(t *testing.T) {
	for _, tc := range []struct{ name, steps, want string }{
		{"unknown fault", "- {inject: vcenter.dwon, on: {vcenter: vc}}", `test.yaml:6:12: steps[0].inject: unknown fault "vcenter.dwon" (did you mean "vcenter.down"?)`},
		{"unknown parameter", "- {inject: vcenter.latency, on: {vcenter: vc}, with: {dealy: 1s}}", `test.yaml:6:55: steps[0].with.dealy: unknown parameter of vcenter.latency "dealy" (did you mean "delay"?)`},
		{"wrong parameter", "- {inject: vcenter.latency, on: {vcenter: vc}, with: {delay: long}}", `test.yaml:6:62: steps[0].with.delay: must be a duration such as 250ms, not "long"`},
		{"unknown target", "- {inject: vcenter.down, on: {vcentre: vc}}", `test.yaml:6:31: steps[0].on.vcentre: unknown kind of target "vcentre" (did you mean "vcenter"?)`},
		{"target that is not there", "- {inject: vcenter.down, on: {vcenter: vx}}", `test.yaml:6:40: steps[0].on.vcenter: vcenter "vx" not found in the topology (did you mean "vc"?)`},
		{"no target", "- {inject: vcenter.down}", `test.yaml:6:3: steps[0].on: is missing: the target of vcenter.down: on: {vcenter: NAME}`},
		{"mode", "- {inject: vcenter.down, on: {vcenter: vc}, mode: some}", `test.yaml:6:51: steps[0].mode: must be one, all, a number or a percentage such as 25%, not "some"`},
		{"no action", "- {as: x}", "test.yaml:6:3: steps[0]: does nothing: it needs one of inject, heal, wait, expect, never, run, set, note"},
		{"two actions", "- {heal: all, run: [kubectl]}", "test.yaml:6:15: steps[0].run: is a second action of the step, which has heal: make it two steps"},
		{"unknown key", "- {note: x, witin: 3s}", `test.yaml:6:13: steps[0].witin: unknown key (did you mean "within"?)`},
		{"key of another action", "- {note: x, within: 3s}", `test.yaml:6:13: steps[0].within: is no key of note`},
		{"never without a time", "- never: {event: {kind: node.deleted}}", "test.yaml:6:10: steps[0].never: needs for: or until: how long it must not happen"},
		{"never for nothing", "- {never: {event: {kind: node.deleted}}, for: 0s}", "test.yaml:6:47: steps[0].for: must be longer than 0s"},
		{"until nothing", "- {never: {event: {kind: node.deleted}}, until: later}\n- {note: x, as: latter}", `test.yaml:6:49: steps[0].until: unknown later step "later" (did you mean "latter"?)`},
		{"duration", "- {note: x, after: 3 parsecs}", `test.yaml:6:20: steps[0].after: must be a duration such as 500ms, 10s or 1m30s, or 40s/speed for a time of a cluster with upstream's defaults, not "3 parsecs"`},
		{"negative", "- {note: x, after: -3s}", `test.yaml:6:20: steps[0].after: must not be negative, as "-3s" is`},
		{"too long", "- {expect: {node: worker-1}, within: 2h}", `test.yaml:6:38: steps[0].within: must not be more than an hour, as 2h is`},
		{"backwards", "- {note: x, at: 10s}\n- {note: x, at: 5s}", `test.yaml:7:17: steps[1].at: is 5s, which is over when the step before it, at 10s, is`},
		{"node that never was", "- wait: {node: worker-11, ready: True}", `test.yaml:6:16: steps[0].wait.node: node "worker-11" not found in the topology (did you mean "worker-1"?)`},
		{"vm that never was", "- expect: [{node: worker-1}, {vm: [vc/worker-1, worker-3], power: on}]", `test.yaml:6:49: steps[0].expect.vm: vm "worker-3" not found in the topology (did you mean "worker-1"?)`},
		{"field", "- expect: {node: worker-1, redy: True}", `test.yaml:6:28: steps[0].expect.redy: unknown field of a node "redy" (did you mean "ready"?)`},
		{"value", "- expect: {node: worker-1, initialized: maybe}", `test.yaml:6:41: steps[0].expect.initialized: must be yes or no, not "maybe"`},
		{"count", `- expect: {node: all, count: some}`, `test.yaml:6:30: steps[0].expect.count: must be a number, or one with >=, <=, >, < or != before it, not "some"`},
		{"subject", "- expect: {pod: x}", `test.yaml:6:12: steps[0].expect: must begin with one of node, vm, host, vcenter, component, lease, volume, attachment, service, virtualmachine, virtualmachineservice, event, events, calls, log, metric, all, any`},
		{"beside an event", "- expect: {event: {kind: vm.moved}, count: 3}", `test.yaml:6:37: steps[0].expect.count: unknown key "count": conditions on the event are in it: event: {…}`},
		{"expression", `- expect: {event: {kind: vm.moved, message: "("}}`, "test.yaml:6:45: steps[0].expect.event.message: is no regular expression: error parsing regexp: missing closing ): `(`"},
		{"since", "- {note: x, as: here}\n- expect: {event: {kind: vm.moved, since: hree}}", `test.yaml:7:11: steps[1].expect.since: unknown step "hree" (did you mean "here"?)`},
		{"cause", "- expect: {event: {kind: vm.moved, cause: outage}}", `test.yaml:6:11: steps[0].expect.cause: unknown step, and no kind of event, "outage"`},
		{"heal", "- {inject: vcenter.down, on: {vcenter: vc}, as: outage}\n- heal: outrage", `test.yaml:7:9: steps[1].heal: unknown step "outrage" (did you mean "outage"?)`},
		{"heal a note", "- {note: x, as: here}\n- heal: here", `test.yaml:7:9: steps[1].heal: "here" is a step that injects nothing, on line 6`},
		{"same name", "- {note: x, as: a}\n- {note: x, as: a}", `test.yaml:7:17: steps[1].as: "a" is already there, on line 6`},
		{"reserved name", "- {note: x, as: end}", `test.yaml:6:17: steps[0].as: must be a name for the step other than start, step, end, all, not "end"`},
		{"command", "- run: [kubctl, get]", `test.yaml:6:8: steps[0].run: unknown command "kubctl" (did you mean "kubectl"?)`},
		{"value that is not set yet", "- expect: {node: worker-1, providerID: \"${id}\"}\n- set: {id: {node: worker-1, field: providerID}}", `test.yaml:6:40: steps[0].expect.providerID: there is no parameter "id" ($${ stands for ${)`},
		{"set of a field that is none", "- set: {id: {node: worker-1, field: provider}}", `test.yaml:6:37: steps[0].set.id.field: unknown field of a node "provider" (did you mean "providerID"?)`},
		{"twice", "- {note: x, note: y}", `test.yaml:6:13: steps[0].note: is given twice, first on line 6`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := scenario.Load("test.yaml", []byte(header+tc.steps))
			if err == nil {
				t.Fatal("it loads")
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// So is a header that makes none.
func TestRefusedHeader(t *testing.T) {
	const steps = "\nsteps: [{note: x}]\n"
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "", "s.yaml:1:1: is empty: a scenario begins with apiVersion: sandbox.vsphere/v1alpha1 and kind: Scenario"},
		{"no YAML", "a: [", "s.yaml:1:1: is not YAML: did not find expected node content"},
		{"two documents", "a: 1\n---\nb: 2", "s.yaml:1:1: apiVersion: is missing: apiVersion: sandbox.vsphere/v1alpha1\ns.yaml:1:1: kind: is missing: kind: Scenario\ns.yaml:2:1: a second document begins here: a scenario file holds one"},
		{"no kind", "apiVersion: sandbox.vsphere/v1alpha1\nmetadata: {name: x}\ntopology: single" + steps, "s.yaml:1:1: kind: is missing: kind: Scenario"},
		{"topology", "apiVersion: sandbox.vsphere/v1alpha1\nkind: Topology", "s.yaml:1:1: is a topology, not a scenario"},
		{"no topology", top + "metadata: {name: x}" + steps, "s.yaml:1:1: topology: is missing: the name of a topology (single, supervisor, zones-per-cluster, zones-stretched, zones-us-eu), a file, or one written out below it"},
		{"unknown topology", top + "metadata: {name: x}\ntopology: singel" + steps, `s.yaml:4:11: topology: there is no topology "singel": there are single, supervisor, zones-per-cluster, zones-stretched, zones-us-eu (did you mean "single"?)`},
		{"topology in no folder", top + "metadata: {name: x}\ntopology: ./x.yaml" + steps, `s.yaml:4:11: topology: cannot be a file: this scenario was not read from a file`},
		{"inline topology", top + "metadata: {name: x}\ntopology:\n  spec:\n    vcenters:\n      - nmae: vc" + steps, "s.yaml:7:9: topology.spec.vcenters[0].datacenters: needs at least one datacenter\n" + `s.yaml:7:15: topology.spec.vcenters[0].nmae: unknown key (did you mean "name"?)`},
		{"name", top + "metadata: {name: Not a name}\ntopology: single" + steps, `s.yaml:3:18: metadata.name: must be a DNS label: at most 63 lower-case letters, digits and hyphens, not "Not a name"`},
		{"no steps", top + "metadata: {name: x}\ntopology: single", "s.yaml:1:1: steps: must be a list of 1 to 1000 steps"},
		{"release", top + "metadata: {name: x}\ntopology: single\ncomponents: {kubernetes: v1.12}" + steps, `s.yaml:5:26: components.kubernetes: must be v1.37, v1.36, v1.35, v1.34, not "v1.12"`},
		{"speed", top + "metadata: {name: x}\ntopology: single\ncomponents: {speed: 1000}" + steps, "s.yaml:5:21: components.speed: speed 1000: want a number from 1 (upstream's defaults) to 100"},
		{"parameter without a value", top + "metadata: {name: x}\ntopology: single\nparameters: [{name: p}]" + steps, "s.yaml:5:14: parameters[0]: has no default: it must be set (--set p=…)"},
		{"parameter that is not allowed", top + "metadata: {name: x}\ntopology: single\nparameters: [{name: p, default: 3, allowed: [1, 2]}]" + steps, `s.yaml:5:14: parameters[0]: p must be one of [1 2], not "3"`},
		{"unknown key", top + "metadata: {name: x}\ntopology: single\nexpeced: y" + steps, `s.yaml:5:1: expeced: unknown key (did you mean "expected"?)`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := scenario.Load("s.yaml", []byte(tc.text))
			if _, ok := errors.AsType[topology.Errors](err); !ok {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

const top = "apiVersion: sandbox.vsphere/v1alpha1\nkind: Scenario\n"

func TestParameters(t *testing.T) {
	text := top + `metadata: {name: x}
parameters:
  - {name: node, default: worker-1}
  - {name: deadline, default: 10s}
topology: single
steps:
  - expect: {node: "${node}"}
    within: ${deadline}
    note: costs $${x}
`
	s, err := scenario.Load("s.yaml", []byte(text), topology.Setting{Name: "node", Value: "worker-2"})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Steps[0].Text(); got != "costs ${x}: node worker-2 exists within 10s" {
		t.Errorf("got %s", got)
	}
	if _, err := scenario.Load("s.yaml", []byte(text), topology.Setting{Name: "nod", Value: "worker-2"}); err == nil || !strings.Contains(err.Error(), `did you mean "node"`) {
		t.Errorf("got %v", err)
	}
	if _, err := scenario.Load("s.yaml", []byte(text), topology.Setting{Name: "node", Value: "worker-9"}); err == nil || !strings.Contains(err.Error(), `node "worker-9" not found`) {
		t.Errorf("got %v", err)
	}
}

// The topology may be a file beside the scenario, on disk and in a file system.
func TestTopologyFile(t *testing.T) {
	lab := "apiVersion: sandbox.vsphere/v1alpha1\nkind: Topology\nmetadata: {name: lab}\nparameters: [{name: n, default: 1}]\nspec: {vcenters: [{name: vc, datacenters: [{name: dc, hosts: [{name: esx}], vms: [{name: w, role: worker, replicas: \"${n}\"}]}]}]}\n"
	text := top + "metadata: {name: x}\ntopology: {use: ./lab.yaml, parameters: {n: 3}}\nsteps: [{expect: {node: w-3}}]\n"
	dir := t.TempDir()
	for name, data := range map[string]string{"lab.yaml": lab, "x.yaml": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := scenario.LoadFile(filepath.Join(dir, "x.yaml")); err != nil {
		t.Error(err)
	}
	files := fstest.MapFS{"a/lab.yaml": {Data: []byte(lab)}, "a/x.yaml": {Data: []byte(text)}}
	if _, err := scenario.LoadFS(files, "a/x.yaml"); err != nil {
		t.Error(err)
	}
	if _, err := scenario.LoadFile(filepath.Join(dir, "none.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := scenario.LoadCatalogue("power-of"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "power-off") {
		t.Errorf("got %v", err)
	}
}

// All mistakes are reported at once: an unknown parameter, and one that cannot be used, hide no others, and cause none.
func TestAllAtOnce(t *testing.T) {
	const text = `apiVersion: sandbox.vsphere/v1alpha1
kind: Scenario
metadata: {name: wrong}
topology: singel
parameters:
  - {name: node, default: worker-1}
  - {name: time, type: int, default: soon}
steps:
  - inject: vm.power-of
    on: {vm: "${nod}"}
  - expect: {node: "${node}", ready: True}
    within: 20
  - heal: f9
  - expect: {node: "${vm}", count: "${time}"}
    within: "${time}"
  - bogus: 1
`
	_, err := scenario.Load("s.yaml", []byte(text))
	want := `s.yaml:4:11: topology: there is no topology "singel": there are single, supervisor, zones-per-cluster, zones-stretched, zones-us-eu (did you mean "single"?)
s.yaml:7:5: parameters[1]: time must be a whole number, not "soon"
s.yaml:9:13: steps[0].inject: unknown fault "vm.power-of" (did you mean "vm.power-off"?)
s.yaml:10:14: steps[0].on.vm: there is no parameter "nod" ($${ stands for ${) (did you mean "node"?)
s.yaml:12:13: steps[1].within: must be a duration such as 500ms, 10s or 1m30s, or 40s/speed for a time of a cluster with upstream's defaults, not "20" (did you mean "20s"?)
s.yaml:13:11: steps[2].heal: unknown step "f9"
s.yaml:14:20: steps[3].expect.node: there is no parameter "vm" ($${ stands for ${)
s.yaml:16:5: steps[4]: does nothing: it needs one of inject, heal, wait, expect, never, run, set, note
s.yaml:16:5: steps[4].bogus: unknown key`
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
