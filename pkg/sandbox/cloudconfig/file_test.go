package cloudconfig

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
)

func TestProjection(t *testing.T) {
	conf, changes := "", 0
	c := newConfig(t, &conf)
	c.Changed = func() { changes++ }
	p := projection{Config: c}
	object := event.Object{Kind: "ConfigMap", Name: ConfigMap}
	changed := func(what string) event.Event {
		return event.Event{Plane: event.PlaneKubernetes, Kind: "ccm.config-changed", Level: event.Info, Object: object, Message: "vsphere.conf " + what}
	}
	const gone = "-"
	for i, step := range []struct {
		conf    string
		changes int
		want    []event.Event
	}{
		{"one", 0, nil}, // the first content is the sandbox's
		{"one", 0, nil},
		{"two", 1, []event.Event{changed("changed")}},
		{"", 2, []event.Event{changed("is empty")}},
		{"", 2, nil},
		{gone, 3, []event.Event{changed("is gone")}},
		{gone, 3, nil},
		{"", 4, []event.Event{changed("is empty")}},
		{"three", 5, []event.Event{changed("changed")}},
	} {
		last, data := c.Log.Last(), map[string]string{}
		if step.conf != gone {
			data[Key] = step.conf
		}
		p.project(data)
		requireEvents(t, c.Log, last, step.want...)
		got, err := os.ReadFile(c.File)
		if step.conf == gone && !os.IsNotExist(err) || step.conf != gone && (err != nil || string(got) != step.conf) || changes != step.changes {
			t.Errorf("step %d: file %q, %v, %d changes", i, got, err, changes)
		}
	}
}

// A file that cannot be written is reported, and written when the ConfigMap is touched again.
func TestProjectionRefused(t *testing.T) {
	conf := ""
	c := newConfig(t, &conf)
	c.File = filepath.Join(filepath.Dir(c.File), "sub", "vsphere.conf")
	p := projection{Config: c}
	one := map[string]string{Key: "one"}
	p.project(one)
	events, _ := c.Log.Read(0, 0)
	if len(events) != 1 || events[0].Kind != "ccm.config-rejected" {
		t.Errorf("%+v", events)
	}
	if err := os.Mkdir(filepath.Dir(c.File), 0o700); err != nil {
		t.Fatal(err)
	}
	p.project(one)
	if got, err := os.ReadFile(c.File); err != nil || string(got) != "one" {
		t.Errorf("%q, %v", got, err)
	}
}
