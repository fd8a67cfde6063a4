package sandbox

import (
	"log/slog"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// idle returns a sandbox without a directory, for what needs none.
func idle(t *testing.T) *Sandbox {
	t.Helper()
	topology, err := scenarios.Load("single")
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{Name: "test", Topology: topology, Speed: 10, Logger: slog.New(slog.DiscardHandler)})
}

// Every step that leaves something running can stop it, also when it was never begun or failed half-way.
func TestStopOfWhatDidNotStart(t *testing.T) {
	s := newSandbox(t, "single")
	steps := s.steps()
	if err := s.shutdown(steps, len(steps)); err != nil {
		t.Error(err)
	}
}
