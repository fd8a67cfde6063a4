package kind

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// up boots a sandbox on kind, which the end of the test takes down.
func (h *home) up(name string, args ...string) *sandbox {
	h.T.Helper()
	return h.upOn(node, name, args...)
}

// upOn is up with another node image.
func (h *home) upOn(image, name string, args ...string) *sandbox {
	h.T.Helper()
	h.Must(append([]string{"--name", name, "up", "--detach", "--cluster", "kind", "--kind-image", image}, args...)...)
	return h.attach(name)
}

// attach returns a sandbox that has been booted.
func (h *home) attach(name string) *sandbox {
	h.T.Helper()
	s := &sandbox{h, h.Attach(name)}
	h.T.Cleanup(func() {
		if h.T.Failed() {
			h.T.Log(s.world())
		}
	})
	return s
}

// vms lists the VMs by name.
func (s *sandbox) vms() map[string]api.VM {
	s.T.Helper()
	all, err := s.Client.VMs(s.T.Context())
	if err != nil {
		s.T.Fatal(err)
	}
	m := map[string]api.VM{}
	for _, v := range all {
		m[v.Name] = v
	}
	return m
}

// volume is the volume of a claim.
func (s *sandbox) volume(claim string) api.Volume {
	s.T.Helper()
	all, err := s.Client.Volumes(s.T.Context())
	if err != nil {
		s.T.Fatal(err)
	}
	for _, v := range all {
		if v.Claim == "default/"+claim {
			return v
		}
	}
	return api.Volume{}
}

// containers are the names of the sandbox's.
func (s *sandbox) containers() []string {
	s.T.Helper()
	out, err := docker("ps", "--all", "--filter", "label=io.x-k8s.kind.cluster=vsphere-sandbox-"+s.Name, "--format", "{{.Names}}")
	if err != nil {
		s.T.Fatal(err)
	}
	return strings.Fields(out)
}

// container is that of a node: its VM's UUID is mounted there.
func (s *sandbox) container(node string) string {
	s.T.Helper()
	uuid := strings.ToLower(s.vms()[s.Node(node).VM].UUID)
	for _, c := range s.containers() {
		if out, err := docker("exec", c, "cat", "/kind/product_uuid"); err == nil && strings.ToLower(strings.TrimSpace(out)) == uuid {
			return c
		}
	}
	s.T.Fatalf("no container of node %s, UUID %s, among %v", node, uuid, s.containers())
	return ""
}

// well returns why a node is not healthy, or "".
func (s *sandbox) unwell() string {
	s.T.Helper()
	nodes, err := s.Client.Nodes(s.T.Context())
	if err != nil {
		return err.Error()
	}
	if len(nodes) == 0 {
		return "no nodes"
	}
	for _, n := range nodes {
		if !n.Registered || !n.Initialized || n.Ready != "True" {
			return fmt.Sprintf("node %s: registered %t, initialized %t, ready %s, taints %v", n.Name, n.Registered, n.Initialized, n.Ready, n.Taints)
		}
	}
	return ""
}

// await waits until why returns "", looking at every event, and fails the test with the last reason.
func (s *sandbox) await(what string, within time.Duration, why func() string) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), within)
	defer cancel()
	begin := time.Now()
	met := errors.New("met")
	for {
		reason := why()
		if reason == "" {
			break
		}
		if ctx.Err() != nil {
			s.T.Fatalf("waited %s for: %s: %s", within, what, reason)
		}
		// Some conditions change without an event; look again once a second in any case.
		step, stop := context.WithTimeout(ctx, time.Second)
		_ = s.Client.Events(step, s.Last(), true, func(event.Event, uint64) error { return met })
		<-tick(step, stop)
	}
	took(s.T, what, begin)
}

// tick is closed half a second before ctx ends, at most: events may come thick, and each look costs.
func tick(ctx context.Context, stop context.CancelFunc) <-chan struct{} {
	done := make(chan struct{})
	timer := time.AfterFunc(300*time.Millisecond, stop)
	go func() {
		<-ctx.Done()
		timer.Stop()
		close(done)
	}()
	return done
}

// world is everything there is to see, for the log of a failed test.
func (s *sandbox) world() string {
	if _, err := s.Client.Status(context.Background()); err != nil {
		return "the sandbox does not answer any more: " + err.Error()
	}
	out, err := docker("ps", "--all")
	return s.Show(
		[]string{"status"}, []string{"get", "nodes"}, []string{"get", "vms"}, []string{"get", "volumes"}, []string{"kubectl", "get", "pods", "-A", "-o", "wide"},
		[]string{"kubectl", "get", "events", "-A", "--sort-by=.lastTimestamp"},
	) + fmt.Sprintf("%s%v\n", out, err) + s.Tail()
}
