package watchcache

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// runStates are what an [api.Run] can be in, stepStates what a step of it can.
func runStates() []string  { return []string{"running", "passed", "failed", "error", "skipped"} }
func stepStates() []string { return append(runStates(), "pending") }

// PublishRun checks and sets the row of the scenario that runs, or ran last: there is one.
func (c *Cache) PublishRun(_ context.Context, r api.Run) (struct{}, error) {
	invalid := func(format string, args ...any) (struct{}, error) {
		return struct{}{}, &api.Error{Code: "invalid", Message: fmt.Sprintf(format, args...)}
	}
	if r.Name == "" {
		return invalid("run: it has no name")
	}
	if !slices.Contains(runStates(), r.State) {
		return invalid("run %s: state %q is none of %s", r.Name, r.State, strings.Join(runStates(), ", "))
	}
	for i, step := range r.Steps {
		if !slices.Contains(stepStates(), step.State) {
			return invalid("run %s: step %d: state %q is none of %s", r.Name, i+1, step.State, strings.Join(stepStates(), ", "))
		}
	}
	c.put("run", api.Update{Run: &r}, false)
	return struct{}{}, nil
}
