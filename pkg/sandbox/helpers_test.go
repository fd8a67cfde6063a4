package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters/simulated"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

type ref = types.ManagedObjectReference

// newSandbox returns a sandbox that has not started, with its own directory.
func newSandbox(t testing.TB, scenario string, changes ...func(*Options)) *Sandbox {
	t.Helper()
	return New(newOptions(t, scenario, changes...))
}

func newOptions(t testing.TB, scenario string, changes ...func(*Options)) Options {
	t.Helper()
	topology, err := scenarios.Load(scenario)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := instance.Create(t.TempDir(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dir.Remove(); err != nil {
			t.Error(err)
		}
	})
	o := Options{Name: "test", Topology: topology, Speed: 10, Dir: dir, Logger: slog.New(slog.DiscardHandler)}
	for _, change := range changes {
		change(&o)
	}
	return o
}

// withVCenters returns a sandbox that has come as far as the inventory watch: with vCenters, without Kubernetes.
func withVCenters(t testing.TB, scenario string, changes ...func(*Options)) *Sandbox {
	t.Helper()
	s := newOn(newOptions(t, scenario, changes...), simulated.New(simulated.Options{BootDelay: time.Millisecond}))
	for i := range s.opts.Topology.Spec.VCenters {
		s.opts.Place.Addresses = append(s.opts.Place.Addresses, fmt.Sprintf("127.0.0.%d:0", i+1)) // a cloud config identifies vCenters by host
	}
	if s.opts.Trace != "" {
		if err := s.tracer.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.tracer.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	if err := s.startVCenters(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := s.inventory.Stop(ctx); err != nil {
			t.Error(err)
		}
		if err := s.source.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := s.watchInventory(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// requireEvents compares what was appended to the log after an event, but for numbers and times.
func requireEvents(t *testing.T, log *event.Log, after uint64, want ...event.Event) {
	t.Helper()
	got, _ := log.Read(after, 0)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(event.Event{}, "Seq", "Time"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// byName sorts VMs.
var byName = cmpopts.SortSlices(func(a, b api.VM) bool { return a.VCenter+a.Path < b.VCenter+b.Path })

// tableOf returns the rows of one kind that a reader gets now.
func tableOf[T any](s *Sandbox, pick func(api.Update) *T) []T {
	lines, reader := s.watchCache.Read()
	defer reader.Close()
	var list []T
	for _, l := range lines {
		var u api.Update
		if err := json.Unmarshal(l, &u); err != nil {
			panic(err)
		}
		if row := pick(u); row != nil {
			list = append(list, *row)
		}
	}
	return list
}

// standOn replaces the ground of a sandbox that has not begun, and the parts that depend on it.
func (s *Sandbox) standOn(g ground.Ground) {
	s.ground, s.facts = g, g.Facts()
	assembleCCM(s)
}
