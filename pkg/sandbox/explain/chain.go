package explain

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// find returns the event of a Seq.
func (a Around) find(seq uint64) (event.Event, bool) {
	i := sort.Search(len(a.Events), func(i int) bool { return a.Events[i].Seq >= seq })
	if i < len(a.Events) && a.Events[i].Seq == seq {
		return a.Events[i], true
	}
	return event.Event{}, false
}

// newest returns the newest event that matches; its Seq is 0 when there is none.
func (a Around) newest(match func(event.Event) bool) event.Event {
	for _, e := range slices.Backward(a.Events) {
		if match(e) {
			return e
		}
	}
	return event.Event{}
}

// newestOf is newest, of one of the kinds.
func (a Around) newestOf(about func(event.Event) bool, kinds ...string) event.Event {
	return a.newest(func(e event.Event) bool { return slices.Contains(kinds, e.Kind) && about(e) })
}

// chain is what an event comes from, the first cause first, and itself at the end.
func (a Around) chain(e event.Event) []event.Event {
	list := []event.Event{e}
	for e.Cause != 0 && e.Cause < e.Seq { // a cause is older
		cause, ok := a.find(e.Cause)
		if !ok {
			break
		}
		list, e = append(list, cause), cause
	}
	slices.Reverse(list)
	return list
}

// path writes the chain of an event with the latency of every hop.
func (a Around) path(e event.Event) string {
	list := a.chain(e)
	if len(list) == 1 {
		return e.Message
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)", list[0].Kind, list[0].Message)
	for i, hop := range list[1:] {
		fmt.Fprintf(&b, " → %s +%s", hop.Kind, span(hop.Time.Sub(list[i].Time)))
	}
	return b.String()
}

// who says what was behind an event: ", because of …", or nothing when that is not known.
func (a Around) who(e event.Event) string {
	if e.Seq == 0 {
		return ""
	}
	first := a.chain(e)[0]
	switch {
	case first.Seq == e.Seq:
		return ""
	case strings.HasPrefix(first.Kind, "command."):
		return fmt.Sprintf(", because of the command %q (#%d)", first.Message, first.Seq)
	case strings.HasPrefix(first.Kind, "fault.injected"):
		return fmt.Sprintf(", because of fault %s (#%d)", first.Message, first.Seq)
	}
	return fmt.Sprintf(", after %s (#%d: %s)", first.Kind, first.Seq, first.Message)
}

// undo is what heals the fault that an event comes from, if it comes from one that lasts; otherwise something else.
func (a Around) undo(e event.Event, otherwise string) string {
	if e.Seq == 0 {
		return otherwise
	}
	first := a.chain(e)[0]
	for _, l := range a.Leases {
		if first.Kind == "fault.injected" && strings.HasPrefix(first.Message, l.ID+": ") && l.State == "active" {
			return "vsphere-sandbox fault heal " + l.ID
		}
	}
	return otherwise
}

// History picks the events that are about something, and those that they come from, oldest first.
func History(all []event.Event, about func(event.Event) bool) []event.Event {
	picked := []event.Event{}
	wanted := map[uint64]bool{}
	for _, e := range slices.Backward(all) { // a cause is older than what comes from it
		if !wanted[e.Seq] && !about(e) {
			continue
		}
		picked = append(picked, e)
		if e.Cause != 0 {
			wanted[e.Cause] = true
		}
	}
	slices.Reverse(picked)
	return picked
}

// ofNode tells whether an event is about a node.
func ofNode(name string) func(event.Event) bool {
	return func(e event.Event) bool { return e.Object.Kind == "Node" && e.Object.Name == name }
}

// ofVM tells whether an event is about a VM.
func ofVM(vcenter, name string) func(event.Event) bool {
	return func(e event.Event) bool {
		return e.Object.Kind == "VM" && e.Object.VCenter == vcenter && e.Object.Name == name
	}
}
