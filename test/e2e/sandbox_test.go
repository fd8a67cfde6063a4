package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// sandbox is a running sandbox of a test.
type sandbox struct {
	*home
	name   string
	client *api.Client
}

// up boots a sandbox, which the end of the test takes down. It has volumes only where that is asked for: most tests are
// about nodes.
func (h *home) up(name string, args ...string) *sandbox {
	h.t.Helper()
	if !slices.Contains(args, "--csi") {
		args = append(args, "--csi", "off")
	}
	h.must(append([]string{"--name", name, "up", "--detach"}, args...)...)
	return h.attach(name)
}

// attach returns a sandbox that has been booted.
func (h *home) attach(name string) *sandbox {
	h.t.Helper()
	// Not by package instance, which trusts no directory of another user's, and we may be root.
	dir := filepath.Join(h.state, name)
	socket := filepath.Join(dir, "control.sock")
	if short, err := os.ReadFile(filepath.Join(dir, "socket-dir")); err == nil && len(socket) > 103 {
		socket = filepath.Join(strings.TrimSpace(string(short)), "control.sock")
	}
	return &sandbox{home: h, name: name, client: api.NewClient(socket)}
}

// run runs a command about this sandbox, which must end well.
func (s *sandbox) run(args ...string) string {
	s.t.Helper()
	return s.must(append([]string{"--name", s.name}, args...)...)
}

func (s *sandbox) status() api.Status {
	s.t.Helper()
	st, err := s.client.Status(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return st
}

// node returns the row of a node; one that is not there has an empty name.
func (s *sandbox) node(name string) api.Node {
	s.t.Helper()
	nodes, err := s.client.Nodes(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, n := range nodes {
		if n.Name == name {
			return n
		}
	}
	return api.Node{}
}

// component returns a component's row.
func (s *sandbox) component(name string) api.Component {
	s.t.Helper()
	for _, c := range s.status().Components {
		if c.Name == name {
			return c
		}
	}
	return api.Component{}
}

// await waits until a condition holds, looking at every event, and fails the test with the world when it does not in
// time.
func (s *sandbox) await(what string, within time.Duration, holds func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), within)
	defer cancel()
	begin := time.Now()
	met := errors.New("met")
	check := func(event.Event, uint64) error {
		if holds() {
			return met
		}
		return nil
	}
	for {
		if holds() {
			break
		}
		// Some conditions change without an event (a child's state); look again once a second in any case.
		step, stop := context.WithTimeout(ctx, time.Second)
		err := s.client.Events(step, s.last(), true, check)
		stop()
		if errors.Is(err, met) {
			break
		}
		if ctx.Err() != nil {
			s.t.Fatalf("waited %s for: %s\n%s", within, what, s.world())
		}
	}
	s.t.Logf("%6.2fs  %s", time.Since(begin).Seconds(), what)
}

// never watches for a while and fails the test as soon as something that must not happen does.
func (s *sandbox) never(what string, during time.Duration, happens func() string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), during)
	defer cancel()
	for ctx.Err() == nil {
		if bad := happens(); bad != "" {
			s.t.Fatalf("%s: %s\n%s", what, bad, s.world())
		}
		step, stop := context.WithTimeout(ctx, time.Second)
		_ = s.client.Events(step, s.last(), true, func(event.Event, uint64) error { return errors.New("look") })
		stop()
	}
	s.t.Logf("%6.2fs  never: %s", during.Seconds(), what)
}

// last is the newest event's number.
func (s *sandbox) last() uint64 {
	var last uint64
	_ = s.client.Events(s.t.Context(), 0, false, func(e event.Event, _ uint64) error { last = e.Seq; return nil })
	return last
}

// eventsSince returns the events after seq whose kind begins so.
func (s *sandbox) eventsSince(seq uint64, kind string) []event.Event {
	s.t.Helper()
	var list []event.Event
	err := s.client.Events(s.t.Context(), seq, false, func(e event.Event, _ uint64) error {
		if strings.HasPrefix(e.Kind, kind) {
			list = append(list, e)
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

// world is everything there is to see, for the log of a failed test.
func (s *sandbox) world() string {
	var b strings.Builder
	for _, args := range [][]string{{"status"}, {"get", "nodes"}, {"get", "vms"}} {
		b.WriteString(s.try(append([]string{"--name", s.name}, args...)...).both() + "\n")
	}
	var events []event.Event
	_ = s.client.Events(context.Background(), 0, false, func(e event.Event, _ uint64) error {
		events = append(events, e)
		return nil
	})
	for _, e := range events[max(0, len(events)-60):] {
		fmt.Fprintf(&b, "%4d %s %-10s %-22s %-16s %s (cause %d)\n", e.Seq, e.Time.Format("05.000"), e.Plane, e.Kind, e.Object.Name, e.Message, e.Cause)
	}
	return b.String()
}

// vm does something to a VM through the command line, as a person would.
func (s *sandbox) vm(action, name string, args ...string) {
	s.t.Helper()
	s.run(append([]string{"vm", action, name}, args...)...)
}

// kubectl runs the built-in kubectl and decodes its JSON.
func kubectl[T any](s *sandbox, args ...string) T {
	s.t.Helper()
	var v T
	out := s.run(append([]string{"kubectl"}, append(args, "-o", "json")...)...)
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		s.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return v
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

// well tells whether a node is as it should be: ready, initialized and without a taint that says otherwise.
func well(n api.Node) bool {
	return n.Registered && n.Initialized && n.Ready == "True" && !tainted(n, taintShutdown) && !tainted(n, "node.kubernetes.io/unreachable")
}

// pidOf reads the process id out of a path below /proc.
func pidOf(path string) int {
	pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
	return pid
}

// short skips a test that takes long where that was asked for.
func long(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a minute; left out by -short")
	}
}
