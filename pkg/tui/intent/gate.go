package intent

import (
	"context"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// DefaultDelay is what "vcenter slow" adds to each call when nothing else is said.
const DefaultDelay = 250 * time.Millisecond

// Args implements [Action].
func (a Gate) Args() []string { return a.command().args() }

func (a Gate) command() command {
	verb := a.Mode
	if verb == "hung" {
		verb = "hang"
	}
	return command{words: []string{"vcenter", verb}, names: []string{a.VCenter}, flags: flag("delay", span(a.delay()))}
}

// delay is the delay that goes with the mode.
func (a Gate) delay() time.Duration {
	switch {
	case a.Mode != "slow":
		return 0
	case a.Delay == 0:
		return DefaultDelay
	}
	return time.Duration(a.Delay)
}

// Danger implements [Action]: "up" puts any of it right.
func (Gate) Danger() string { return "" }

// Do implements [Action].
func (a Gate) Do(ctx context.Context, s Sandbox) (string, error) {
	r := a.GateRequest
	r.Delay = api.Duration(a.delay())
	done, err := s.Gate(ctx, r)
	return done.Message, err
}
