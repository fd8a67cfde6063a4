package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

func TestProjection(t *testing.T) {
	s := idle(t)
	p := projection{s: s, file: filepath.Join(t.TempDir(), "vsphere.conf")}
	object := event.Object{Kind: "ConfigMap", Name: cloudConfigMap}
	changed := event.Event{Plane: event.PlaneKubernetes, Kind: "ccm.config-changed", Level: event.Info, Object: object, Message: "vsphere.conf changed"}
	missing := event.Event{Plane: event.PlaneSandbox, Kind: "ccm.config-rejected", Level: event.Warning, Object: object, Message: "vsphere.conf: missing or empty"}
	for i, step := range []struct {
		conf, file string
		unsettled  bool
		want       []event.Event
	}{
		{"one", "one", false, nil}, // the sandbox's own
		{"one", "one", false, nil},
		{"two", "two", true, []event.Event{changed}},
		{"", "two", true, []event.Event{missing}},
		{"", "two", true, nil},
		{"two", "two", true, nil},
		{"", "two", true, []event.Event{missing}},
		{"three", "three", true, []event.Event{changed}},
	} {
		last := s.log.Last()
		p.project(step.conf)
		requireEvents(t, s.log, last, step.want...)
		if got, err := os.ReadFile(p.file); err != nil || string(got) != step.file || s.unsettled != step.unsettled {
			t.Errorf("step %d: file %q, %v, unsettled %t", i, got, err, s.unsettled)
		}
	}
}

// A file that cannot be written is told, and written when the ConfigMap is touched again.
func TestProjectionRefused(t *testing.T) {
	s := idle(t)
	dir := t.TempDir()
	p := projection{s: s, file: filepath.Join(dir, "sub", "vsphere.conf")}
	p.project("one")
	events, _ := s.log.Read(0, 0)
	if len(events) != 1 || events[0].Kind != "ccm.config-rejected" {
		t.Errorf("%+v", events)
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.project("one")
	if got, err := os.ReadFile(p.file); err != nil || string(got) != "one" {
		t.Errorf("%q, %v", got, err)
	}
}
