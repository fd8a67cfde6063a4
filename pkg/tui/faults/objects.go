package faults

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
)

// object returns the kind of a fault's targets as in subjects: "vm" for VM.
func object(k api.FaultKind) string { return strings.ToLower(k.Object) }

// nothing is the target of faults of the whole sandbox, which need no choice.
const nothing = "sandbox"

// related returns the subjects whose faults belong to a subject: itself, the VM of a node, the node of a VM; for a component also
// the sandbox, which has one cloud controller manager and one control plane.
func related(s api.Subject, state *fold.State) []api.Subject {
	all := []api.Subject{s}
	if s.Kind == "component" {
		return append(all, api.Subject{Kind: nothing})
	}
	for _, n := range world.Values[api.Node](state.World(), world.Node) {
		switch {
		case n.VM == "":
		case s.Kind == "node" && n.Name == s.Name:
			all = append(all, api.Subject{Kind: "vm", VCenter: n.VCenter, Name: n.VM})
		case s.Kind == "vm" && n.VM == s.Name && (s.VCenter == "" || n.VCenter == s.VCenter):
			all = append(all, api.Subject{Kind: "node", VCenter: n.VCenter, Name: n.Name})
		}
	}
	if len(all) > 1 && s.Kind == "node" { // what happens to a VM comes first: the node follows it
		all[0], all[1] = all[1], all[0]
	}
	return all
}
