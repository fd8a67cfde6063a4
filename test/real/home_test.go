package real

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// home is where sandboxes of a test live, and files of the test's. When the test ends, no sandbox may be left in it and no
// process that belongs to it.
type home struct{ *program.Home }

func newHome(t *testing.T) *home {
	t.Helper()
	h := &home{program.NewHome(t, program.Options{Binary: binary, Env: []string{"SHELL=/bin/sh"}})}
	t.Cleanup(func() { h.End(h.State) })
	return h
}

// with is the same home with variables, those of a vCenter.
func (h *home) with(environ []string) *home {
	other := *h.Home
	other.Env = append(slices.Clone(other.Env), environ...)
	return &home{&other}
}

// refused runs the program, which must end with that status, say all of these things on standard error and nothing else on
// standard output, and leave nothing behind.
func (h *home) refused(code int, says []string, args ...string) {
	h.T.Helper()
	r := h.Try(args...)
	if r.Code != code || r.Out != "" {
		h.T.Errorf("vsphere-sandbox %s: exit status %d, want %d\n%s", strings.Join(args, " "), r.Code, code, r.Both())
	}
	for _, text := range says {
		if !strings.Contains(r.Err, text) {
			h.T.Errorf("vsphere-sandbox %s: does not say %q:\n%s", strings.Join(args, " "), text, r.Err)
		}
	}
	h.nothingLeft()
}

// nothingLeft fails the test if a process of its sandboxes is left, or a file of theirs.
func (h *home) nothingLeft() {
	h.T.Helper()
	h.NothingLeft(h.State)
}

// eventually asks until a condition holds, at most for the time, and says whether it does.
func eventually(within time.Duration, holds func() bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return holds()
		}
	}
	return true
}
