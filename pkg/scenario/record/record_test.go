package record_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/record"
)

// updates is a sandbox that sends these updates.
type updates []api.Update

func (updates) Status(context.Context) (api.Status, error) {
	return api.Status{Topology: "single"}, nil
}

func (t updates) Watch(ctx context.Context, _ uint64, f func(api.Update) error) error {
	for _, u := range append(t, api.Update{Synced: true}) {
		if err := f(u); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

var began = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

func happened(seq uint64, after time.Duration, kind string, o event.Object, cause uint64, message string) api.Update {
	return api.Update{Event: &event.Event{Seq: seq, Time: began.Add(after), Kind: kind, Object: o, Cause: cause, Message: message}}
}

func TestRecord(t *testing.T) {
	vm, node := event.Object{Kind: "VM", VCenter: "vc", Name: "worker-1"}, event.Object{Kind: "Node", Name: "worker-1"}
	vc := event.Object{Kind: "VCenter", VCenter: "vc", Name: "vc"}
	until := began.Add(70 * time.Second)
	s := updates{
		happened(1, 0, "node.ready", node, 0, "Ready"),
		{Lease: &api.Lease{ID: "f1", Fault: "vcenter.latency", State: "healed", Seq: 2, Params: map[string]string{"delay": "300ms", "jitter": "0s"}, Targets: []api.LeaseTarget{{Kind: "VCenter", VCenter: "vc", Name: "vc"}}}},
		{Lease: &api.Lease{ID: "f2", Fault: "vcenter.down", State: "healed", Seq: 20, Since: began.Add(time.Minute), Until: &until, Targets: []api.LeaseTarget{{Kind: "VCenter", VCenter: "vc", Name: "vc"}}}},
		happened(2, time.Second, "fault.injected", vc, 0, "f1"),
		happened(3, 3*time.Second, "command.power-off", vm, 0, "vm power-off worker-1"),
		happened(4, 3*time.Second, "vm.powered-off", vm, 3, "powered off"),
		happened(5, 8*time.Second, "node.unknown", node, 4, "Ready=Unknown"),
		happened(6, 9*time.Second, "node.tainted", node, 5, "taint node.cloudprovider.kubernetes.io/shutdown"),
		happened(7, 20*time.Second, "fault.healed", event.Object{Kind: "Lease", Name: "f1"}, 2, "f1"),
		happened(8, 30*time.Second, "gate.down", vc, 0, "down"),
		happened(9, 35*time.Second, "gate.up", vc, 0, "up"),
		happened(10, 40*time.Second, "command.power-on", vm, 0, "vm power-on worker-1"),
		happened(11, 44*time.Second, "node.ready", node, 10, "Ready"),
		happened(12, 45*time.Second, "node.untainted", node, 11, "taint node.cloudprovider.kubernetes.io/shutdown is gone"),
		happened(20, time.Minute, "fault.injected", vc, 0, "f2"),
		happened(21, time.Minute, "gate.down", vc, 20, "down"),
		happened(22, 70*time.Second, "fault.expired", vc, 20, "f2"),
		happened(23, 70*time.Second, "fault.healed", vc, 22, "f2"),
	}
	var seen []string
	got, err := record.Record(t.Context(), s, record.Options{Name: "by-hand", OnAction: func(text string) { seen = append(seen, text) }})
	if err != nil {
		t.Fatal(err)
	}
	want := `# Recorded: look through what is expected, and say what it is about (reported:, expected:).
apiVersion: sandbox.vsphere/v1alpha1
kind: Scenario
metadata:
  name: by-hand
  description: 'recorded: 7 actions'
topology: single
steps:
  - note: no node went away
    never: {event: {kind: node.deleted}}
    until: end
  - inject: vcenter.latency
    on: {vcenter: vc}
    with: {delay: 300ms}
    as: f1
  - run: [vsphere-sandbox, vm, power-off, vc/worker-1]
    after: 2s
  - expect: {node: worker-1, ready: Unknown, taints: [node.cloudprovider.kubernetes.io/shutdown]}
    within: 30s
  - heal: f1
    after: 11s
  - inject: vcenter.down
    on: {vcenter: vc}
    as: gate-vc-1
    after: 10s
  - heal: gate-vc-1
    after: 5s
  - run: [vsphere-sandbox, vm, power-on, vc/worker-1]
    after: 5s
  - expect: {node: worker-1, ready: "True", noTaints: [node.cloudprovider.kubernetes.io/shutdown]}
    within: 30s
  - inject: vcenter.down
    on: {vcenter: vc}
    for: 10s
    after: 15s
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(seen) != 7 {
		t.Errorf("updates %d: %s", len(seen), strings.Join(seen, "; "))
	}
	loaded, err := scenario.Load("by-hand.yaml", got)
	if err != nil {
		t.Fatalf("it does not load: %v", err)
	}
	if len(loaded.Steps) != 10 {
		t.Errorf("it has %d steps", len(loaded.Steps))
	}
}

func TestNothingDone(t *testing.T) {
	if _, err := record.Record(t.Context(), updates{}, record.Options{}); err == nil {
		t.Error("no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := record.Record(ctx, updates{}, record.Options{Follow: true}); err == nil || !strings.Contains(err.Error(), "nothing was done") {
		t.Errorf("got %v", err)
	}
}

// A fault that ends before the next action leaves the state in between in the draft, and the pause before the action.
func TestStatesInBetween(t *testing.T) {
	vm, node := event.Object{Kind: "VM", VCenter: "vc", Name: "worker-1"}, event.Object{Kind: "Node", Name: "worker-1"}
	until := began.Add(20 * time.Second)
	s := updates{
		{Lease: &api.Lease{ID: "f1", Fault: "vm.power-off", State: "healed", Seq: 1, Seed: 7, Since: began, Until: &until, Targets: []api.LeaseTarget{{Kind: "VM", VCenter: "vc", Name: "worker-1"}}}},
		{Lease: &api.Lease{ID: "f2", Fault: "guest.tools-stopped", State: "healed", Seq: 2, Seed: 8, Targets: []api.LeaseTarget{{Kind: "VM", VCenter: "vc", Name: "worker-2"}}}},
		happened(1, 0, "fault.injected", vm, 0, "f1"),
		happened(2, 0, "fault.injected", vm, 0, "f2"),
		happened(3, 5*time.Second, "node.unknown", node, 1, "Ready=Unknown"),
		happened(4, 5*time.Second, "node.tainted", node, 3, "taint node.kubernetes.io/unreachable"),
		happened(5, 5*time.Second, "node.tainted", node, 3, "taint node.cloudprovider.kubernetes.io/shutdown"),
		happened(6, 20*time.Second, "fault.expired", vm, 1, "f1"),
		happened(7, 20*time.Second, "fault.healed", vm, 6, "f1"),
		happened(8, 22*time.Second, "node.ready", node, 7, "Ready"),
		happened(9, 22*time.Second, "node.untainted", node, 8, "taint node.kubernetes.io/unreachable is gone"),
		happened(10, 22*time.Second, "node.untainted", node, 8, "taint node.cloudprovider.kubernetes.io/shutdown is gone"),
		happened(11, 24*time.Second, "fault.healed", vm, 2, "f2"),
	}
	got, err := record.Record(t.Context(), s, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, steps, _ := strings.Cut(string(got), "until: end\n")
	want := `  - inject: vm.power-off
    on: {vm: vc/worker-1}
    for: 20s
  - inject: guest.tools-stopped
    on: {vm: vc/worker-2}
    as: f2
  - expect: {node: worker-1, ready: Unknown, taints: [node.kubernetes.io/unreachable, node.cloudprovider.kubernetes.io/shutdown]}
    within: 30s
  - expect: {node: worker-1, ready: "True", noTaints: [node.kubernetes.io/unreachable, node.cloudprovider.kubernetes.io/shutdown]}
    within: 1m6s
  - heal: f2
    after: 2s
`
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What ends the moment a node is ready again does not expect the taints that are about to go.
func TestEndsEarly(t *testing.T) {
	vm, node := event.Object{Kind: "VM", VCenter: "vc", Name: "worker-1"}, event.Object{Kind: "Node", Name: "worker-1"}
	s := updates{
		happened(1, 0, "command.power-on", vm, 0, "vm power-on worker-1"),
		happened(2, 1*time.Second, "node.tainted", node, 1, "taint node.cloudprovider.kubernetes.io/shutdown"),
		happened(3, 1*time.Second, "node.tainted", node, 1, "taint example.com/mine"),
		happened(4, 2*time.Second, "node.ready", node, 1, "Ready"),
	}
	got, err := record.Record(t.Context(), s, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := `expect: {node: worker-1, ready: "True", taints: [example.com/mine]}`; !strings.Contains(string(got), want) {
		t.Errorf("want %s in:\n%s", want, got)
	}
}
