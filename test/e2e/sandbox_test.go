package e2e

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// sandbox is a running sandbox of a test.
type sandbox struct {
	*home
	*program.Sandbox
}

// up boots a sandbox, which the end of the test takes down. It has volumes only where that is asked for: most tests are
// about nodes.
func (h *home) up(name string, args ...string) *sandbox {
	h.T.Helper()
	if !slices.Contains(args, "--csi") {
		args = append(args, "--csi", "off")
	}
	h.Must(append([]string{"--name", name, "up", "--detach"}, args...)...)
	return h.attach(name)
}

// attach returns a sandbox that has been booted.
func (h *home) attach(name string) *sandbox { return &sandbox{h, h.Attach(name)} }

// never watches for a while and fails the test as soon as something that must not happen does.
func (s *sandbox) never(what string, during time.Duration, happens func() string) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), during)
	defer cancel()
	look := errors.New("look")
	for ctx.Err() == nil {
		if bad := happens(); bad != "" {
			s.T.Fatalf("%s: %s\n%s", what, bad, s.World())
		}
		step, stop := context.WithTimeout(ctx, time.Second)
		if err := s.Client.Events(step, s.Last(), true, func(event.Event, uint64) error { return look }); !errors.Is(err, look) {
			<-step.Done() // a sandbox that does not answer is not asked again at once
		}
		stop()
	}
	s.T.Logf("%6.2fs  never: %s", during.Seconds(), what)
}

// vm does something to a VM through the command line, as a person would.
func (s *sandbox) vm(action, name string, args ...string) {
	s.T.Helper()
	s.Run(append([]string{"vm", action, name}, args...)...)
}

const (
	taintShutdown      = "node.cloudprovider.kubernetes.io/shutdown"
	taintUninitialized = "node.cloudprovider.kubernetes.io/uninitialized"
)

func tainted(n api.Node, key string) bool {
	for _, t := range n.Taints {
		if strings.HasPrefix(t, key+"=") || strings.HasPrefix(t, key+":") {
			return true
		}
	}
	return false
}

// well reports whether a node is healthy: ready, initialized and without the shutdown taint.
func well(n api.Node) bool {
	return n.Registered && n.Initialized && n.Ready == "True" && !tainted(n, taintShutdown) && !tainted(n, "node.kubernetes.io/unreachable")
}

// long skips a test that takes long where that was asked for, or that others stand for.
func long(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short; make e2e runs it")
	}
}

// short is how many of a kind are tried: few with -short.
func short(few, all int) int {
	if testing.Short() {
		return few
	}
	return all
}
