package page

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/sample"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

func TestLanes(t *testing.T) {
	object := func(kind, vc, name string) event.Object { return event.Object{Kind: kind, VCenter: vc, Name: name} }
	for _, tc := range []struct {
		e           event.Event
		group, name string
	}{
		{event.Event{Plane: event.PlaneSandbox, Kind: "fault.injected", Object: object("VM", "us", "w")}, "done", "us/w"},
		{event.Event{Plane: event.PlaneSandbox, Kind: "command.power-off"}, "done", "sandbox"},
		{event.Event{Plane: event.PlaneVSphere, Kind: "vm.powered-off", Object: object("VM", "us", "w")}, "vsphere", "us/w"},
		{event.Event{Plane: event.PlaneVSphere, Kind: "host.down", Object: object("Host", "us", "esx")}, "vsphere", "host us/esx"},
		{event.Event{Plane: event.PlaneSandbox, Kind: "gate.down", Object: object("VCenter", "us", "us")}, "gate", "us"},
		{event.Event{Plane: event.PlaneKubernetes, Kind: "ccm.vm-gone", Object: object("Node", "", "w")}, "ccm", "w"},
		{event.Event{Plane: event.PlaneSandbox, Kind: "child.exited", Object: object("Component", "", "ccm")}, "ccm", "ccm"},
		{event.Event{Plane: event.PlaneSandbox, Kind: "child.exited", Object: object("Node", "", "w")}, "process", "w"},
		{event.Event{Plane: event.PlaneKubernetes, Kind: "node.ready", Object: object("Node", "", "w")}, "kubernetes", "w"},
		{event.Event{Plane: event.PlaneSandbox, Kind: "scenario.step"}, "sandbox", "scenario"},
	} {
		if g, name := lane(tc.e); g.ID != tc.group || name != tc.name {
			t.Errorf("%s: %s %q, want %s %q", tc.e.Kind, g.ID, name, tc.group, tc.name)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, tc := range []struct {
		span time.Duration
		want []string
	}{
		{time.Millisecond, []string{"0", "0.1 ms", "0.2 ms", "0.3 ms", "0.4 ms", "0.5 ms", "0.6 ms", "0.7 ms", "0.8 ms", "0.9 ms", "1 ms"}},
		{1400 * time.Millisecond, []string{"0", "0.2 s", "0.4 s", "0.6 s", "0.8 s", "1 s", "1.2 s", "1.4 s"}},
		{24 * time.Second, []string{"0", "5 s", "10 s", "15 s", "20 s"}},
	} {
		var got []string
		for _, tick := range (scale{sample.Began(), tc.span}).ticks() {
			got = append(got, tick.Label)
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s: %s", tc.span, d)
		}
	}
}

// No mark covers another, and no label anything, as long as there is room.
func TestNothingCoversAnything(t *testing.T) {
	s := sample.Suite()
	for i := range s.Scenarios {
		tl := timeline(&s.Scenarios[i])
		if tl == nil {
			continue
		}
		var boxes []box
		for _, l := range tl.Lanes {
			for _, m := range l.Marks {
				b := box{m.X - 4, l.Y + m.Y - 4, m.X + 4, l.Y + m.Y + 4}
				if m.LabelLeft {
					b.left -= labelWidth(m.Label)
				} else {
					b.right += labelWidth(m.Label)
				}
				for _, o := range boxes {
					if b.meets(o) {
						t.Errorf("%s: event %d covers another", s.Scenarios[i].Name, m.Seq)
					}
				}
				if b.right > plotRight || b.left < plotLeft || b.bottom > l.Y+l.H {
					t.Errorf("%s: event %d leaves its lane", s.Scenarios[i].Name, m.Seq)
				}
				boxes = append(boxes, b)
			}
		}
	}
}

func TestCrowdedLane(t *testing.T) {
	var marks []*Mark
	for range 40 {
		marks = append(marks, &Mark{X: 300, Label: "label"})
	}
	if rows := pack(marks, plotRight); rows != mostRows {
		t.Errorf("%d rows", rows)
	}
	labels := 0
	for _, m := range marks {
		if m.Row < 0 || m.Row >= mostRows {
			t.Errorf("row %d", m.Row)
		}
		if m.Label != "" {
			labels++
		}
	}
	if labels > mostRows {
		t.Errorf("%d labels in %d rows", labels, mostRows)
	}
}

// TestStepsSideBySide: a step that continues while others run has its own row.
func TestStepsSideBySide(t *testing.T) {
	at := sample.Began()
	s := &result.Scenario{Began: at, Steps: []result.Step{
		{Began: at, Took: 10 * time.Second, Verdict: result.Passed},
		{Began: at.Add(time.Second), Took: 4 * time.Second, Verdict: result.Passed},
		{Began: at.Add(5 * time.Second), Took: 5 * time.Second, Verdict: result.Passed},
		{Began: at.Add(10 * time.Second), Verdict: result.Skipped},
	}}
	tl := timeline(s)
	if len(tl.Steps) != 3 || tl.Steps[0].Y == tl.Steps[1].Y || tl.Steps[1].Y != tl.Steps[2].Y {
		t.Errorf("steps: %+v", tl.Steps)
	}
	if alone := timeline(&result.Scenario{Began: at, Steps: s.Steps[:1]}); alone.LanesTop+barHeight != tl.LanesTop {
		t.Errorf("lanes begin at %g, of one step at %g", tl.LanesTop, alone.LanesTop)
	}
}
