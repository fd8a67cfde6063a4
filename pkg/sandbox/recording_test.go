package sandbox

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// It is there from the first boot step on, and ends with the sandbox.
func TestRecordingOfASandbox(t *testing.T) {
	s, c := withRecording(t)
	s.watchCache.SetComponent(api.Component{Name: "ccm", State: "running"})
	s.log.Append(event.Event{Kind: "boot.step"})
	var head api.Recording
	begin := func(r api.Recording) error { head = r; return nil }
	var lines []api.Recorded
	if err := c.Record(t.Context(), false, begin, func(r api.Recorded) error { lines = append(lines, r); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(lines) != 3 || !lines[0].Synced || lines[1].Component == nil || lines[2].Event == nil {
		t.Errorf("recorded %+v", lines)
	}
	want := api.Recording{
		APIVersion: api.RecordingVersion, Kind: api.RecordingKind, Sandbox: "test", Topology: "single", Speed: 10,
		StartedAt: s.start, Version: build.Version(), KubernetesVersion: build.Kubernetes(), Began: head.Began,
		Ground: api.Ground{Cluster: "embedded", Inventory: "simulated", Writable: true, Nodes: "hollow"},
	}
	if d := cmp.Diff(want, head); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	reported, ended := make(chan api.Recorded, 100), make(chan error, 1)
	go func() {
		ended <- c.Record(t.Context(), true, begin, func(r api.Recorded) error { reported <- r; return nil })
	}()
	for range lines {
		<-reported
	}
	s.watchCache.SetComponent(api.Component{Name: "ccm", State: "stopped"})
	if u := <-reported; u.Component == nil || u.Component.State != "stopped" {
		t.Errorf("told %+v", u)
	}
	s.log.Append(event.Event{Kind: "sandbox.stopping"}) // recorded though the sandbox ends at once
	if err := s.server.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if u := <-reported; u.Event == nil || u.Event.Kind != "sandbox.stopping" {
		t.Errorf("told %+v", u)
	}
}

// A recording can be handed on: it has no secret to log in with.
func TestRecordingHoldsNoPasswords(t *testing.T) {
	s, c := withFaults(t)
	if err := s.openFiles(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Inject(t.Context(), api.InjectRequest{Fault: "vm.power-off", On: api.Selector{Zone: "us-east"}, Mode: "all"}); err != nil {
		t.Fatal(err)
	}
	access, err := c.Access(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.files.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(s.opts.Dir.Path("recording.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b, []byte(access[0].URL)) {
		t.Errorf("nothing is recorded: %s", b)
	}
	for _, a := range access {
		if a.Password == "" || bytes.Contains(b, []byte(a.Password)) {
			t.Errorf("the password of vCenter %s is in it", a.VCenter)
		}
	}
}

// withRecording returns a sandbox that has come as far as the control API.
func withRecording(t *testing.T) (*Sandbox, *api.Client) {
	t.Helper()
	s := newSandbox(t, "single")
	if err := s.openFiles(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.files.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s, serve(t, s)
}

// Nothing that was not recorded is answered with.
func TestNoRecording(t *testing.T) {
	c := serve(t, newSandbox(t, "single"))
	requireCode(t, "recording", c.Record(t.Context(), false, nil, nil), "unavailable")
}
