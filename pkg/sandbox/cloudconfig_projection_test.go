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
	told := func(what string) event.Event {
		return event.Event{Plane: event.PlaneKubernetes, Kind: "ccm.config-changed", Level: event.Info, Object: object, Message: "vsphere.conf " + what}
	}
	const gone = "-"
	for i, step := range []struct {
		conf      string
		unsettled bool
		want      []event.Event
	}{
		{"one", false, nil}, // the sandbox's own
		{"one", false, nil},
		{"two", true, []event.Event{told("changed")}},
		{"", true, []event.Event{told("is empty")}},
		{"", true, nil},
		{gone, true, []event.Event{told("is gone")}},
		{gone, true, nil},
		{"", true, []event.Event{told("is empty")}},
		{"three", true, []event.Event{told("changed")}},
	} {
		last, data := s.log.Last(), map[string]string{}
		if step.conf != gone {
			data[cloudConfigKey] = step.conf
		}
		p.project(data)
		requireEvents(t, s.log, last, step.want...)
		got, err := os.ReadFile(p.file)
		if step.conf == gone && !os.IsNotExist(err) || step.conf != gone && (err != nil || string(got) != step.conf) || s.ccms.unsettled != step.unsettled {
			t.Errorf("step %d: file %q, %v, unsettled %t", i, got, err, s.ccms.unsettled)
		}
	}
}

// A file that cannot be written is told, and written when the ConfigMap is touched again.
func TestProjectionRefused(t *testing.T) {
	s := idle(t)
	dir := t.TempDir()
	p := projection{s: s, file: filepath.Join(dir, "sub", "vsphere.conf")}
	one := map[string]string{cloudConfigKey: "one"}
	p.project(one)
	events, _ := s.log.Read(0, 0)
	if len(events) != 1 || events[0].Kind != "ccm.config-rejected" {
		t.Errorf("%+v", events)
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.project(one)
	if got, err := os.ReadFile(p.file); err != nil || string(got) != "one" {
		t.Errorf("%q, %v", got, err)
	}
}
