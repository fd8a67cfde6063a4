package record

import (
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// nodeState is what a node has become, as far as events tell it.
type nodeState struct {
	name    string
	ready   string
	tainted []string
	// untainted are taints that went.
	untainted []string
	gone      bool
	// last is when the last of it happened.
	last time.Time
}

// lasting are the taints that stay: a node that has become ready is about to lose those of its illness, however early the
// next thing was done, or the recording ended.
func (n *nodeState) lasting() []string {
	if n.ready != "True" {
		return n.tainted
	}
	passing := []string{"node.cloudprovider.kubernetes.io/shutdown", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}
	return slices.DeleteFunc(slices.Clone(n.tainted), func(key string) bool { return slices.Contains(passing, key) })
}

// transitions fold the events of nodes, in the order in which nodes were first told of.
func transitions(events []event.Event) []*nodeState {
	var all []*nodeState
	for _, e := range events {
		if e.Object.Kind != "Node" || !strings.HasPrefix(e.Kind, "node.") {
			continue
		}
		i := slices.IndexFunc(all, func(n *nodeState) bool { return n.name == e.Object.Name })
		if i < 0 {
			i = len(all)
			all = append(all, &nodeState{name: e.Object.Name})
		}
		if all[i].take(e) {
			all[i].last = e.Time
		}
	}
	return slices.DeleteFunc(all, func(n *nodeState) bool { return n.last.IsZero() })
}

// take folds one, and tells whether it is anything to be expected.
func (n *nodeState) take(e event.Event) bool {
	taint := func(message string) string {
		return strings.TrimSuffix(strings.TrimPrefix(message, "taint "), " is gone")
	}
	drop := func(list []string, key string) []string {
		return slices.DeleteFunc(list, func(one string) bool { return one == key })
	}
	switch e.Kind {
	case "node.ready":
		n.ready, n.gone = "True", false
	case "node.unknown":
		n.ready = "Unknown"
	case "node.not-ready":
		n.ready = "False"
	case "node.tainted":
		key := taint(e.Message)
		n.tainted, n.untainted = append(drop(n.tainted, key), key), drop(n.untainted, key)
	case "node.untainted":
		key := taint(e.Message)
		n.tainted, n.untainted = drop(n.tainted, key), append(drop(n.untainted, key), key)
	case "node.deleted":
		*n = nodeState{name: n.name, gone: true}
	case "node.registered":
		n.gone = false
	default:
		return false
	}
	return true
}
