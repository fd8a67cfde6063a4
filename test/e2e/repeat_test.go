package e2e

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/document"
	outcome "github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

var said = regexp.MustCompile(`(?m)^ *ccm\..*\n`)

// The same file and seed break the same things, with the same verdicts, and bring about the same events in the same order.
func TestScenarioRepeats(t *testing.T) {
	t.Parallel()
	long(t)
	h := newHome(t)
	file := h.File("drawn.yaml", `apiVersion: sandbox.vsphere/v1alpha1
kind: Scenario
metadata: {name: drawn}
topology: zones-us-eu
steps:
- {inject: vm.power-off, on: {role: worker}, mode: one, as: off}
- wait: {event: {kind: node.tainted, message: shutdown}}
- heal: off
- expect: {node: all, ready: True, noTaints: [node.cloudprovider.kubernetes.io/shutdown]}
- {inject: guest.tools-stopped, on: {zone: us-east}, mode: 50%, as: tools}
- wait: {event: {kind: guest.changed, since: tools}}
`)
	var first string
	for _, name := range []string{"one", "two"} {
		r := h.Try("--name", name, "scenario", "run", file, "--seed", "11", "-o", "json")
		if r.Code != 0 {
			t.Fatalf("exit status %d\n%s", r.Code, r.Both())
		}
		var got document.Suite
		if err := json.Unmarshal([]byte(r.Out), &got); err != nil {
			t.Fatal(err)
		}
		ran := outcome.Scenario{Events: got.Scenarios[0].Events}
		for _, s := range got.Scenarios[0].Steps {
			ran.Steps = append(ran.Steps, outcome.Step{Action: s.Action, Text: s.Text, Verdict: s.Verdict, Event: s.Event})
		}
		// What the cloud provider says of a trouble depends on whether it looked before that was over.
		timeline := said.ReplaceAllString(scenario.Timeline(&ran), "")
		if first == "" {
			first = timeline
			t.Log("\n" + timeline)
		} else if diff := cmp.Diff(first, timeline); diff != "" {
			t.Errorf("the second run (-first +second):\n%s", diff)
		}
	}
}
