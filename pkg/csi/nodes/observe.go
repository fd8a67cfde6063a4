package nodes

import (
	"context"
	"slices"
	"time"
)

// debounce is how long changes are collected before listeners are called.
const debounce = 20 * time.Millisecond

// Listen calls f with the sorted names of nodes whose [Nodes.Segment] may have changed: because of vMotion, tags, added or
// removed nodes, or because a vCenter came into sync or lost it. f must not block. It is not called before Run, and not after
// stop has returned.
func (n *Nodes) Listen(f func(nodes []string)) (stop func()) { return n.moved.Listen(f) }

// observe calls the listeners until ctx ends.
func (n *Nodes) observe(ctx context.Context) {
	told := map[string]string{}
	for {
		select {
		case <-n.wake:
		case <-ctx.Done():
			return
		}
		timer := time.NewTimer(debounce)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		answers := n.current().nodeStates()
		var differ []string
		for name, answer := range answers {
			if before, ok := told[name]; !ok || before != answer {
				differ = append(differ, name)
			}
		}
		for name := range told {
			if _, ok := answers[name]; !ok {
				differ = append(differ, name)
			}
		}
		told = answers
		if len(differ) > 0 {
			slices.Sort(differ)
			n.moved.Tell(differ)
		}
	}
}

// nodeStates returns each node's segment in a comparable form.
func (l *layout) nodeStates() map[string]string {
	all := make(map[string]string, len(l.nodes)+len(l.lost))
	for _, node := range l.nodes {
		all[node.name] = node.in.name() + "\n" + segmentKey(node.segment)
		if node.err != nil {
			all[node.name] += node.err.Error()
		}
	}
	for _, node := range l.lost {
		all[node.name] = node.err.Error()
	}
	return all
}
