package api

import (
	"context"
	"time"
)

// Run is a scenario that runs on a sandbox, or ran there, as whoever runs it tells.
type Run struct {
	// Name is the scenario's.
	Name        string `json:"name"`
	File        string `json:"file,omitempty"`
	Description string `json:"description,omitempty"`
	// State is running, passed, failed, error or skipped.
	State string `json:"state"`
	// Message says in one line why it did not pass.
	Message string     `json:"message,omitempty"`
	Began   time.Time  `json:"began"`
	Ended   *time.Time `json:"ended,omitempty"`
	// Number is which of Of scenarios it is that run on this sandbox.
	Number int       `json:"number,omitempty"`
	Of     int       `json:"of,omitempty"`
	Steps  []RunStep `json:"steps,omitempty"`
}

// RunStep is a step of a [Run].
type RunStep struct {
	// Text says what it does: "expect node worker-1: ready is Unknown".
	Text string `json:"text"`
	// State is pending, running, passed, failed, error or skipped.
	State string `json:"state"`
	// Message says what it waits for, or why it did not pass.
	Message string     `json:"message,omitempty"`
	Began   *time.Time `json:"began,omitempty"`
	Took    Duration   `json:"took,omitzero"`
	// Event is the Seq of the event that decided it, 0 for none.
	Event uint64 `json:"event,omitempty"`
}

// Publish has the sandbox tell all who watch it how a scenario runs. The newest of a sandbox takes the place of the one
// before.
func (c *Client) Publish(ctx context.Context, r Run) error {
	_, err := post[struct{}](ctx, c, "run", r)
	return err
}
