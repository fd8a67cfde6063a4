package tuitest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

func TestStoryIsOrdered(t *testing.T) {
	var last time.Time
	var seq uint64
	for i, line := range tuitest.Story() {
		if line.Time.Before(last) {
			t.Errorf("line %d: it is out of order", i)
		}
		last = line.Time
		if e := line.Event; e != nil {
			if e.Seq != seq+1 || e.Cause >= e.Seq || e.Time.After(line.Time) {
				t.Errorf("line %d: event %d after %d, caused by %d, at %s", i, e.Seq, seq, e.Cause, e.Time)
			}
			seq = e.Seq
		}
	}
	if got := last.Sub(tuitest.Began); got != tuitest.Length {
		t.Errorf("it ends at %s, not at %s", got, tuitest.Length)
	}
	if diff := cmp.Diff(tuitest.Story(), tuitest.Story()); diff != "" {
		t.Errorf("the second run differs:\n%s", diff)
	}
}

func TestStory(t *testing.T) {
	for _, tc := range []struct {
		at             time.Duration
		power, ready   string
		taints         int
		state          api.VolumeState
		zone, gate     string
		run, lastEvent string
	}{
		{15 * time.Second, "on", "True", 0, api.VolumeInUse, "us-west", "up", "running", "pod.running"},
		{22 * time.Second, "off", "True", 0, api.VolumeInUse, "us-west", "up", "running", "child.stopped"},
		{30 * time.Second, "off", "Unknown", 3, api.VolumeBlocked, "us-west", "up", "running", "pod.failed-attach-volume"},
		{55 * time.Second, "on", "True", 0, api.VolumeInUse, "us-west", "up", "passed", "pod.running"},
		{75 * time.Second, "on", "True", 0, api.VolumeInUse, "us-east", "down", "passed", "ccm.vcenter-unreachable"},
		{tuitest.Length, "on", "True", 0, api.VolumeInUse, "us-east", "up", "passed", "ccm.vcenter-connected"},
	} {
		t.Run(tc.at.String(), func(t *testing.T) {
			s := tuitest.At(tc.at)
			w := s.World()
			vm := world.Values[api.VM](w, world.VM)
			if len(vm) != 6 {
				t.Fatalf("%d VMs", len(vm))
			}
			v, n := vm[5], world.Values[api.Node](w, world.Node)[5]
			vol, gate := world.Values[api.Volume](w, world.Volume)[0], world.Values[api.VCenter](w, world.VCenter)[0].Gate
			if v.Name != "worker-west-1" || v.Power != tc.power || n.Ready != tc.ready || len(n.Taints) != tc.taints || v.Zone != tc.zone || vol.State != tc.state || gate != tc.gate {
				t.Errorf("%s is %s in %s, %s is %s with %v, %s is %s, eu is %s", v.Name, v.Power, v.Zone, n.Name, n.Ready, n.Taints, vol.Claim, vol.State, gate)
			}
			events := w.Events()
			if last := events[len(events)-1].Kind; s.Run() == nil || s.Run().State != tc.run || last != tc.lastEvent {
				t.Errorf("the run is %+v, the last event %s", s.Run(), last)
			}
			if !s.Now().Equal(tuitest.Began.Add(tc.at)) {
				t.Errorf("it is %s", s.Now())
			}
		})
	}
}

func TestBlockedComesFromTheFault(t *testing.T) {
	w := tuitest.At(30 * time.Second).World()
	var kinds []string
	for _, e := range w.Events() {
		if e.Kind == "pod.failed-attach-volume" {
			for _, c := range append([]event.Event{e}, w.Causes(e)...) {
				kinds = append(kinds, c.Kind)
			}
		}
	}
	want := []string{
		"pod.failed-attach-volume", "pod.scheduled", "pod.created", "pod.deleted", "pod.terminating", "node.tainted", "node.unknown",
		"child.stopped", "vm.powered-off", "fault.injected",
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
}

func TestBig(t *testing.T) {
	s := tuitest.Big(1000)
	w := s.World()
	if n, v, e := len(w.Rows(world.Node)), len(w.Rows(world.Volume)), len(w.Events()); n != 1000 || v != 300 || e != tuitest.BigEvents || len(w.Rows(world.Host)) != 50 {
		t.Errorf("%d nodes, %d volumes, %d events, %d hosts", n, v, e, len(w.Rows(world.Host)))
	}
}

func TestKeys(t *testing.T) {
	for _, name := range []string{
		"a", "G", "/", "?", ":", "1", "+", "enter", "esc", "ctrl+u", "ctrl+r", "pgdown", "pgup", "space", "up", "home", "tab", "shift+tab",
		"backspace", "alt+b", "ctrl+left",
	} {
		if got := tuitest.Key(name).String(); got != name {
			t.Errorf("%s is %s", name, got)
		}
	}
	text := ""
	for _, k := range tuitest.Type("Node a") {
		text += k.Text
	}
	if text != "Node a" {
		t.Errorf("typed %q", text)
	}
}
