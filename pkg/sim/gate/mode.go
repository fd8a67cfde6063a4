package gate

import (
	"fmt"
	"time"
)

// State is what a gate does with calls.
type State string

const (
	// Up answers.
	Up State = "up"
	// Down refuses connections and has cut those that were open.
	Down State = "down"
	// Slow answers each call after [Mode].Delay.
	Slow State = "slow"
	// Hung accepts connections, completes TLS and reads requests, but no answer comes until the mode changes. Calls
	// that were waiting then, long polls among them, are answered when it is Up again.
	Hung State = "hung"
)

// Mode is a state with its parameter. The zero value means [Up].
type Mode struct {
	State State `json:"state"`
	// Delay is added to each call when Slow; it must be positive then and zero otherwise.
	Delay time.Duration `json:"delay,omitempty"`
}

// String returns "up", "down", "hung" or "slow (200ms)".
func (m Mode) String() string {
	if m.State == Slow {
		return fmt.Sprintf("%s (%s)", m.State, m.Delay)
	}
	return string(m.State)
}

// normal fills in the zero value and checks the rest.
func (m Mode) normal() (Mode, error) {
	switch m.State {
	case "":
		m.State = Up
	case Up, Down, Hung, Slow:
	default:
		return m, fmt.Errorf("gate state %q: want up, down, slow or hung", m.State)
	}
	if (m.State == Slow) != (m.Delay > 0) || m.Delay < 0 {
		return m, fmt.Errorf("gate state %s with delay %s: slow and only slow takes a positive delay", m.State, m.Delay)
	}
	return m, nil
}
