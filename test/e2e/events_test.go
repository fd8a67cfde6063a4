package e2e

import (
	"slices"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

// awaitEvent waits for an event of a kind after seq that match likes (nil: any), and returns the first.
func (s *sandbox) awaitEvent(seq uint64, within time.Duration, kind string, match func(event.Event) bool) event.Event {
	s.T.Helper()
	var found event.Event
	s.Await("event "+kind, within, func() bool {
		list := s.Since(seq, kind)
		i := slices.IndexFunc(list, func(e event.Event) bool { return e.Kind == kind && (match == nil || match(e)) })
		if i < 0 {
			return false
		}
		found = list[i]
		return true
	})
	return found
}

// about likes the events about an object of that name.
func about(name string) func(event.Event) bool {
	return func(e event.Event) bool { return e.Object.Name == name }
}

// checkCauses wants an event to be traced back through events of these kinds, its own first, to one that has no cause.
func (s *sandbox) checkCauses(e event.Event, kinds ...string) {
	s.T.Helper()
	bySeq := map[uint64]event.Event{}
	for _, e := range s.Since(0, "") {
		bySeq[e.Seq] = e
	}
	var chain []string
	for seq := e.Seq; seq != 0; seq = bySeq[seq].Cause {
		chain = append(chain, bySeq[seq].Kind)
	}
	if !slices.Equal(chain, kinds) {
		s.T.Errorf("%s of %s: the chain of causes is %v, want %v", e.Kind, e.Object.Name, chain, kinds)
	}
}

// deleted names the nodes whose objects were deleted after seq.
func (s *sandbox) deleted(seq uint64) string {
	s.T.Helper()
	names := ""
	for _, e := range s.Since(seq, "node.deleted") {
		names += " " + e.Object.Name
	}
	return names
}
