package nodes

import (
	"context"
	"slices"
	"time"
)

// settle is how long changes are gathered before listeners are told.
const settle = 20 * time.Millisecond

// Listen has f called with the names of nodes, in order, whose answer to [Nodes.Segment] may have changed: because of
// vMotion, of tags, of nodes that came or went, or because a vCenter came into sync or lost it. f must not block; it is
// not called any more when stop has returned. Nothing is told before Run.
func (n *Nodes) Listen(f func(nodes []string)) (stop func()) { return n.moved.Listen(f) }

// observe tells listeners, until ctx ends.
func (n *Nodes) observe(ctx context.Context) {
	told := map[string]string{}
	for {
		select {
		case <-n.wake:
		case <-ctx.Done():
			return
		}
		timer := time.NewTimer(settle)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		answers := n.current().answers()
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

// answers are what is known of each node's segment, in a form that can be compared.
func (l *layout) answers() map[string]string {
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
