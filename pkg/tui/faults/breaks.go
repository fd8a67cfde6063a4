package faults

import (
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
)

// NewMenu returns the menu of the faults for a subject and what belongs to it: the VM of a node, the node of a VM. The zero value
// means all faults, by theme. The choice is an [intent.Fill].
func NewMenu(kinds []api.FaultKind, subject api.Subject, state *fold.State) *Menu {
	title, entries := "Break", []entry(nil)
	if subject.Name == "" {
		for _, k := range kinds {
			entries = append(entries, offer(k, k.Theme, api.Subject{}, state))
		}
		return newMenu(title, true, entries)
	}
	there := known{state: state}
	for _, s := range related(subject, state) {
		group := strings.TrimSpace(s.Kind + " " + there.called(s))
		for _, k := range kinds {
			if object(k) == s.Kind && fits(k, s) {
				entries = append(entries, offer(k, group, s, state))
			}
		}
	}
	m := newMenu(title+" "+text.Clean(subject.Kind+" "+subject.Name), true, entries)
	if len(entries) == 0 {
		m.table.Empty = "No fault happens to a " + text.Clean(subject.Kind) + "."
	}
	return m
}

// fits reports whether a fault of components applies to this component: those of the CSI driver apply to its processes only.
func fits(k api.FaultKind, s api.Subject) bool {
	if s.Kind != "component" || !strings.HasPrefix(k.Name, "csi.") {
		return true
	}
	return strings.HasPrefix(s.Name, "csi-") || strings.HasPrefix(s.Name, "snapshot-")
}

func offer(k api.FaultKind, group string, s api.Subject, state *fold.State) entry {
	if s.Name == "" {
		s = api.Subject{}
	}
	e := entry{
		group: text.Clean(group), name: text.Clean(k.Name), what: text.Clean(k.Short), why: text.Clean(k.Unsupported),
		intent: intent.Fill{Kind: k.Name, Subject: s},
		search: strings.Join([]string{k.Name, k.Theme, k.Object, k.Short, group}, " "),
	}
	if id := hit(k.Name, s, state); id != "" {
		e.note = text.Clean("in force already: " + id)
	}
	return e
}

// hit returns the lease of a fault on a subject that is not healed, or "".
func hit(kind string, s api.Subject, state *fold.State) string {
	for _, l := range world.Values[api.Lease](state.World(), world.Lease) {
		if l.Fault != kind || l.State == healed {
			continue
		}
		if slices.ContainsFunc(l.Targets, func(t api.LeaseTarget) bool {
			return t.Name == s.Name && (t.VCenter == "" || s.VCenter == "" || t.VCenter == s.VCenter)
		}) {
			return l.ID
		}
	}
	return ""
}
