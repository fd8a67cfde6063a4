package sandbox

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// applied returns a sandbox without Kubernetes that is ready, its client, and its topology as text.
func applied(t *testing.T) (*Sandbox, *api.Client, string) {
	t.Helper()
	s := withVCenters(t, "single")
	s.opts.VCentersOnly = true
	s.standOn(s.newGround())
	s.boot.SetPhase(api.Ready)
	text, err := topology.Marshal(s.desired.Topology())
	if err != nil {
		t.Fatal(err)
	}
	return s, serve(t, s), string(text)
}

// lines are what the sandbox says while it applies a topology.
func lines(ctx context.Context, c *api.Client, r api.ApplyRequest) (all []api.ApplyLine, err error) {
	err = c.Apply(ctx, r, func(l api.ApplyLine) error {
		all = append(all, l)
		return nil
	})
	return all, err
}

func TestApply(t *testing.T) {
	s, c, text := applied(t)
	same, err := lines(t.Context(), c, api.ApplyRequest{Topology: text})
	if err != nil || len(same) != 2 || len(same[0].Changes) > 0 || !same[1].End {
		t.Fatalf("of the same topology: %+v, %v", same, err)
	}

	// Another size, and another VM less.
	next := strings.Replace(text, "cpus: 2", "cpus: 4", 1)
	before, _, _ := strings.Cut(next, "            - name: worker-2")
	dry, err := lines(t.Context(), c, api.ApplyRequest{Topology: before, DryRun: true})
	if err != nil || len(dry) != 2 || len(dry[0].Changes) != 2 {
		t.Fatalf("dry run: %+v, %v", dry, err)
	}
	if got := s.world.VMs(); len(got) != 2 || got[0].CPUs != 2 {
		t.Fatalf("a dry run did something: %+v", got)
	}
	begun := s.log.Last()
	got, err := lines(t.Context(), c, api.ApplyRequest{Topology: before})
	if err != nil {
		t.Fatal(err)
	}
	if last := got[len(got)-1]; !last.End || last.Done != 2 {
		t.Errorf("last line: %+v", last)
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		if vms := s.world.VMs(); len(vms) == 1 && vms[0].CPUs == 4 && vms[0].Power == "on" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("vms: %+v", s.world.VMs())
		}
		time.Sleep(time.Millisecond)
	}
	var kinds []string
	events, _ := s.log.Read(begun, 0)
	for _, e := range events {
		if strings.HasPrefix(e.Kind, "topology.") || strings.HasPrefix(e.Kind, "command.") {
			kinds = append(kinds, e.Kind)
		}
	}
	if want := []string{"command.topology-apply", "topology.step", "topology.step", "topology.applied"}; !slices.Equal(kinds, want) {
		t.Errorf("events %v, want %v", kinds, want)
	}
	// What is applied counts from now on: what it names and the next does not is removed.
	back, err := lines(t.Context(), c, api.ApplyRequest{Topology: text, DryRun: true})
	if err != nil || len(back[0].Changes) != 2 || back[0].Changes[1].Op != "create" {
		t.Errorf("back: %+v, %v", back, err)
	}
	if st, err := c.Status(t.Context()); err != nil || st.Topology != "single" {
		t.Errorf("status: %+v, %v", st, err)
	}
}

func TestApplyRefused(t *testing.T) {
	s, c, text := applied(t)
	for name, tc := range map[string]struct{ topology, code string }{
		"nonsense":     {"a: b", "invalid"},
		"another name": {strings.Replace(text, "name: vc\n", "name: other\n", 1), "unchangeable"},
		"hardware":     {strings.Replace(text, "cpus: 16", "cpus: 8", 1), "unchangeable"},
	} {
		_, err := lines(t.Context(), c, api.ApplyRequest{Topology: tc.topology})
		requireCode(t, name, err, tc.code)
	}
	begun, release, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	free := s.desired.NamesFree
	s.desired.NamesFree = func(context.Context, *topology.Topology) error {
		close(begun)
		<-release
		return api.Conflict("released")
	}
	go func() {
		defer close(done)
		_, err := lines(t.Context(), c, api.ApplyRequest{Topology: text})
		requireCode(t, "the first", err, "conflict")
	}()
	<-begun
	_, err := lines(t.Context(), c, api.ApplyRequest{Topology: text})
	if err == nil || !strings.Contains(err.Error(), "is being applied already") {
		t.Errorf("while another is applied: %v", err)
	}
	close(release)
	<-done
	s.desired.NamesFree = free
	s.boot.SetPhase(api.Stopping)
	_, err = lines(t.Context(), c, api.ApplyRequest{Topology: text})
	requireCode(t, "while it stops", err, "unavailable")
	if got := s.world.VMs(); len(got) != 2 {
		t.Errorf("%d VMs", len(got))
	}
}

// A client that leaves ends the apply between two steps. What is done can be changed back.
func TestApplyAbandoned(t *testing.T) {
	_, c, text := applied(t)
	next := strings.ReplaceAll(text, "cpus: 2", "cpus: 4")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := c.Apply(ctx, api.ApplyRequest{Topology: next}, func(l api.ApplyLine) error {
		if l.Done == 1 {
			cancel()
		}
		return nil
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	var back []api.ApplyLine
	for { // until it is over
		if back, err = lines(t.Context(), c, api.ApplyRequest{Topology: text, DryRun: true}); err == nil {
			break
		}
		requireCode(t, "while it runs", err, "conflict")
		time.Sleep(time.Millisecond)
	}
	if len(back[0].Changes) == 0 {
		t.Errorf("nothing to change back: %+v", back)
	}
}

// taken is a ground whose cluster has a Node of each name already.
type taken struct{ ground.None }

func (taken) Foreign(*corev1.Node) bool                           { return false }
func (taken) NamesFree(context.Context, *topology.Topology) error { return api.Conflict("taken") }

// A topology whose VM would have the name of another's Node is refused before anything is done.
func TestApplyNamesOfOthers(t *testing.T) {
	s, c, text := applied(t)
	s.standOn(taken{})
	_, err := lines(t.Context(), c, api.ApplyRequest{Topology: text})
	requireCode(t, "another's name", err, "conflict")
}
