package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// Timeline is what happened in a scenario without anything that differs from run to run: its steps with their verdicts,
// and under each that did something the events that it caused, indented by cause. What the same event caused is told
// object by object, in the order in which it happened to each; what happened again is told once. No times, numbers and
// messages.
func Timeline(s *result.Scenario) string {
	t := &timeline{byCause: map[uint64][]event.Event{}}
	for _, e := range s.Events {
		t.byCause[e.Cause] = append(t.byCause[e.Cause], e)
	}
	for _, step := range s.Steps {
		fmt.Fprintf(&t.b, "%s %s: %s\n", step.Action, step.Text, step.Verdict)
		if step.Action == string(ActionInject) && step.Event != 0 {
			t.caused(step.Event, 1)
		}
	}
	return t.b.String()
}

type timeline struct {
	b       strings.Builder
	byCause map[uint64][]event.Event
}

// caused tells what an event caused.
func (t *timeline) caused(seq uint64, depth int) {
	events := slices.Clone(t.byCause[seq])
	slices.SortStableFunc(events, func(a, b event.Event) int { return cmp.Compare(subject(a), subject(b)) })
	told := map[string]bool{}
	for _, e := range events {
		line := strings.TrimSpace(e.Kind + " " + subject(e))
		if e.Seq <= seq || told[line] || depth > 50 {
			continue
		}
		told[line] = true
		t.b.WriteString(strings.Repeat("  ", depth) + line + "\n")
		t.caused(e.Seq, depth+1)
	}
}

// subject is what an event is about. A lease is about its step.
func subject(e event.Event) string {
	if e.Object.Kind == "Lease" {
		return ""
	}
	return objectName(e.Object)
}
