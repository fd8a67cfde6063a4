package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// ApplyRequest asks for the inventories to become those of a topology.
type ApplyRequest struct {
	// Topology is the topology, resolved, as YAML: what topology.Marshal writes.
	Topology string `json:"topology"`
	// DryRun asks for the steps alone.
	DryRun bool `json:"dryRun,omitempty"`
	// Prune removes what the topology does not name, whoever made it.
	Prune bool `json:"prune,omitempty"`
}

// Change is one step from the inventories as they are to those of a topology.
type Change struct {
	// Op is create, change or remove.
	Op      string `json:"op"`
	Kind    string `json:"kind"`
	VCenter string `json:"vcenter"`
	// Path is an inventory path, or a name where there is none.
	Path string `json:"path"`
	// What says what about it.
	What string `json:"what,omitempty"`
	// PowerOff says that a VM that runs is powered off for it.
	PowerOff bool `json:"powerOff,omitempty"`
}

// ApplyLine is one line of the answer to an [ApplyRequest]: first the steps, then one line for each that is done, then
// the end.
type ApplyLine struct {
	// Changes are the steps, in order; in the first line.
	Changes []Change `json:"changes,omitempty"`
	// Done is how many steps are done.
	Done int `json:"done"`
	// End is set in the last line; with an Error, the step after those that are done could not be.
	End   bool   `json:"end,omitempty"`
	Error *Error `json:"error,omitempty"`
}

// Apply makes the inventories those of a topology, and calls f for each line of the answer. When ctx ends, the sandbox
// finishes the step it is at and does no other. It returns an error of f, the sandbox's refusal, or the error of the
// step that could not be done.
func (c *Client) Apply(ctx context.Context, r ApplyRequest, f func(ApplyLine) error) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	resp, err := c.do(ctx, http.MethodPost, "topology", bytes.NewReader(b))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for d := json.NewDecoder(resp.Body); ; {
		var line ApplyLine
		if err := d.Decode(&line); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err == io.EOF {
				err = io.ErrUnexpectedEOF // there is always a last line
			}
			return fmt.Errorf("topology: %w", err)
		}
		if err := f(line); err != nil {
			return err
		}
		if line.Error != nil {
			return line.Error
		}
		if line.End {
			return nil
		}
	}
}
