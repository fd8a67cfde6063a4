package smoke

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// course describes a run so that those of two programs can be compared, a line each: the steps with their verdicts, under each
// the event that decided it, and under an injected fault what happened to nodes and VMs until the next step that acts. It leaves
// out times, numbers, and events that one program logs and another does not, though both do the same.
func course(s *result.Scenario) string {
	bySeq := map[uint64]event.Event{}
	for _, e := range s.Events {
		bySeq[e.Seq] = e
	}
	var b strings.Builder
	for i, st := range s.Steps {
		fmt.Fprintf(&b, "%s %s: %s\n", st.Action, st.Text, st.Verdict)
		if st.Verdict == result.Failed && st.Message != "" {
			fmt.Fprintf(&b, "  found: %s\n", report.Line(st.Message))
		}
		switch e, ok := bySeq[st.Event]; {
		case st.Action == "inject" && ok:
			for _, line := range happened(s, e.Seq, nextAct(s, i)) {
				b.WriteString("  " + line + "\n")
			}
		case ok:
			fmt.Fprintf(&b, "  decided by: %s\n", line(e))
		}
	}
	return b.String()
}

// nextAct returns the event of the next step after i that acts, or 0.
func nextAct(s *result.Scenario, i int) uint64 {
	for _, st := range s.Steps[i+1:] {
		if (st.Action == "inject" || st.Action == "heal") && st.Event != 0 {
			return st.Event
		}
	}
	return 0
}

// happened returns the events about nodes and VMs between two others, sorted by object and each once: the order of two objects is
// chance.
func happened(s *result.Scenario, after, before uint64) []string {
	var lines []string
	for _, e := range s.Events {
		if e.Seq <= after || before != 0 && e.Seq >= before || !shared(e) {
			continue
		}
		if l := line(e); !slices.Contains(lines, l) {
			lines = append(lines, l)
		}
	}
	slices.Sort(lines)
	return lines
}

// shared reports whether an event is the same whichever program runs: a change of a node or a VM. Events of the program itself are
// not, and addresses and heartbeats differ by chance.
func shared(e event.Event) bool {
	head, _, _ := strings.Cut(e.Kind, ".")
	return head == "node" || head == "vm"
}

// line describes an event without numbers that differ between runs.
func line(e event.Event) string {
	text := strings.TrimSpace(e.Kind + " " + report.Object(e.Object))
	switch e.Kind {
	case "node.tainted", "node.untainted": // which taint makes all the difference
		if words := strings.Fields(e.Message); len(words) > 1 && words[0] == "taint" {
			text += " " + words[1]
		}
	}
	return text
}
