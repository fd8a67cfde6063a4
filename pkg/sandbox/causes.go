package sandbox

import (
	"slices"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// causes tells for a kind of event of a node which kinds of events of the node, its kubelet or its VM bring it about.
// What is not here, or has none of them behind it, has no known cause: a wrong one would be worse than none.
var causes = map[string][]string{
	"node.registered":  {"child.started"},
	"node.provider-id": {"node.registered"},
	"node.labelled":    {"node.registered"},
	"node.ready":       {"child.started", "guest.up"},
	"node.not-ready":   {"child.stopped", "child.exited", "node.hung", "vm.suspended"},
	"node.unknown":     {"child.stopped", "child.exited", "node.hung", "vm.suspended"},
	"node.tainted":     {"node.unknown", "node.not-ready"},
	"node.untainted":   {"node.ready"},
	"node.deleted":     {"vm.destroyed"},
}

// causeOf finds the newest event that may have made a node change so, 0 when there is none. One that is older than the
// cluster takes to notice anything did not.
func (s *Sandbox) causeOf(node, kind string) uint64 {
	vm := s.nodes.behind(node)
	return s.newest(causes[kind], func(e event.Event) bool {
		switch e.Object.Kind {
		case "Node":
			return e.Object.Name == node
		case "VM":
			return e.Object.VCenter == vm.vcenter && e.Object.Name == vm.vm
		}
		return false
	})
}

// causeOfProcess finds what made a kubelet start or stop: its VM.
func (s *Sandbox) causeOfProcess(state child.State, about func(event.Event) bool) uint64 {
	var kinds []string
	switch state {
	case child.Started:
		kinds = []string{"guest.up"}
	case child.Stopped:
		kinds = []string{"vm.powered-off", "vm.reset", "vm.destroyed"}
	}
	return s.newest(kinds, func(e event.Event) bool { return e.Plane == event.PlaneVSphere && about(e) })
}

// newest returns the Seq of the newest recent event of one of the kinds that match likes, 0 when there is none.
func (s *Sandbox) newest(kinds []string, match func(event.Event) bool) uint64 {
	const far = 4096 // events
	recent := 2*s.opts.Speed.Of(pace.NodeMonitorGracePeriod) + 10*time.Second
	last := s.log.Last()
	events, _ := s.log.Read(last-min(last, far), 0)
	for _, e := range slices.Backward(events) {
		if time.Since(e.Time) > recent {
			break
		}
		if slices.Contains(kinds, e.Kind) && match(e) {
			return e.Seq
		}
	}
	return 0
}
