package timeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
)

func TestLatency(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "+0s", 0: "+0s", 85 * time.Microsecond: "+85µs", 9999 * time.Microsecond: "+9ms",
		10 * time.Millisecond: "+0.01s", 425 * time.Millisecond: "+0.42s", 9999 * time.Millisecond: "+9.99s",
		36260 * time.Millisecond: "+36.2s", 59999 * time.Millisecond: "+59.9s", 125 * time.Second: "+2m05s",
		1031 * time.Second: "+17m", 62 * time.Minute: "+1h02m", 30 * time.Hour: "+30h",
	} {
		if got := latency(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

func TestShort(t *testing.T) {
	const id = "1f6b3c52-7c0e-4f0a-9d43-0a6c1c1f7b10"
	for in, want := range map[string]string{
		"":                              "",
		"plain":                         "plain",
		id:                              "1f6b3c52…",
		"pvc-" + id + " at " + id + ".": "pvc-1f6b3c52… at 1f6b3c52….",
		"pvc-1f6b3c52-7c0e-4f0a-9d43-0a6c1c1f7b1":                 "pvc-1f6b3c52-7c0e-4f0a-9d43-0a6c1c1f7b1",
		"x\x1b[31mred\n and a line that is longer than a UUID is": "xred  and a line that is longer than a UUID is",
	} {
		if got := short(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestLane(t *testing.T) {
	for _, tc := range []struct {
		plane event.Plane
		kind  string
		lane  lane
		tag   string
	}{
		{event.PlaneSandbox, "fault.injected", sandboxLane, "sbx"},
		{event.PlaneVSphere, "vm.powered-off", vsphereLane, "vSp"},
		{event.PlaneKubernetes, "node.ready", kubeLane, "k8s"},
		{event.PlaneKubernetes, "ccm.vcenter-unreachable", driversLane, "ccm"},
		{event.PlaneSandbox, "ccm.restart", driversLane, "ccm"},
		{event.PlaneSandbox, "csi.scaled", driversLane, "csi"},
		{"another", "x", sandboxLane, "sbx"},
	} {
		e := event.Event{Plane: tc.plane, Kind: tc.kind}
		if laneOf(e) != tc.lane || tag(e) != tc.tag {
			t.Errorf("%s %s: lane %s, tag %s", tc.plane, tc.kind, laneOf(e), tag(e))
		}
	}
	for client, want := range map[string]string{"vsphere-cloud-provider": "ccm", "vsphere-csi-controller/1": "csi", "govc/0.53.0": "api"} {
		if got := newBurst(&fold.Burst{Client: client}).tag(); got != want {
			t.Errorf("%s: %s", client, got)
		}
	}
}

func TestSubjectOf(t *testing.T) {
	for _, tc := range []struct {
		object event.Object
		want   api.Subject
		ok     bool
	}{
		{event.Object{}, api.Subject{}, false},
		{event.Object{Kind: "VM", VCenter: "us", Name: "a"}, api.Subject{Kind: "vm", VCenter: "us", Name: "a"}, true},
		{event.Object{Kind: "Host", VCenter: "us", Name: "a"}, api.Subject{Kind: "host", VCenter: "us", Name: "a"}, true},
		{event.Object{Kind: "Node", Name: "a"}, api.Subject{Kind: "node", Name: "a"}, true},
		{event.Object{Kind: "VCenter", VCenter: "us", Name: "us"}, api.Subject{Kind: "vcenter", Name: "us"}, true},
		{event.Object{Kind: "Component", Name: "ccm"}, api.Subject{Kind: "component", Name: "ccm"}, true},
		{event.Object{Kind: "Volume", VCenter: "us", Name: "v"}, api.Subject{Kind: "volume", VCenter: "us", Name: "v"}, true},
		{event.Object{Kind: "PersistentVolume", Name: "v"}, api.Subject{Kind: "volume", Name: "v"}, true},
		{event.Object{Kind: "PersistentVolumeClaim", Name: "ns/c"}, api.Subject{Kind: "volume", Name: "ns/c"}, true},
		{event.Object{Kind: "VolumeAttachment", Name: "v at n"}, api.Subject{Kind: "volume", Name: "v"}, true},
		{event.Object{Kind: "Pod", Name: "ns/p"}, api.Subject{}, false},
		{event.Object{Kind: "Lease", Name: "f1"}, api.Subject{}, false},
	} {
		got, ok := subjectOf(tc.object)
		if ok != tc.ok || ok && got != tc.want {
			t.Errorf("%+v: %+v, %t", tc.object, got, ok)
		}
	}
}

// order lists rows: e3 an event, b a burst, x2 a gap of two.
func order(l *list) (all []string) {
	for _, r := range l.rows {
		switch {
		case r.burst != nil:
			all = append(all, "b")
		case r.lost > 0:
			all = append(all, "x"+string('0'+rune(r.lost)))
		default:
			all = append(all, "e"+string('0'+rune(r.seq)))
		}
	}
	return all
}

func TestListKeepsOrder(t *testing.T) {
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	var l list
	l.add(entry{at: at(1), seq: 1})
	l.add(entry{at: at(5), seq: 2})
	l.add(entry{at: at(4), seq: 3}) // clocks that disagree do not change the order of the log
	l.cursor, l.top = 2, 1
	l.addBurst(&fold.Burst{At: at(3), Client: "a"}) // late
	l.add(entry{at: at(6), lost: 2})
	l.add(entry{at: at(6), seq: 6})
	l.addBurst(&fold.Burst{At: at(3), Client: "a"})
	if d := cmp.Diff([]string{"e1", "b", "e2", "e3", "x2", "e6"}, order(&l)); d != "" {
		t.Error(d)
	}
	if l.cursor != 3 || l.top != 2 || l.bursts != 1 {
		t.Errorf("cursor %d, top %d, %d bursts: the cursor has left its row", l.cursor, l.top, l.bursts)
	}
	for seq, want := range map[uint64]int{1: 0, 2: 2, 3: 3, 4: 5, 6: 5, 7: 6} {
		if got := l.find(seq); got != want {
			t.Errorf("event %d is in row %d, want %d", seq, got, want)
		}
	}
	l.drop(func(e entry) bool { return e.seq < 2 })
	if d := cmp.Diff([]string{"e2", "e3", "x2", "e6"}, order(&l)); d != "" {
		t.Error(d)
	}
	if l.cursor != 1 || l.top != 0 || l.bursts != 0 {
		t.Errorf("cursor %d, top %d, %d bursts", l.cursor, l.top, l.bursts)
	}
	l.drop(func(entry) bool { return true })
	if _, ok := l.selected(); ok || l.cursor != 0 {
		t.Error("something is selected of nothing")
	}
}

func TestWindow(t *testing.T) {
	w := window{height: 3}
	for i, step := range []struct{ by, n, cursor, top int }{
		{0, 0, 0, 0}, {5, 0, 0, 0}, {1, 10, 1, 0}, {2, 10, 3, 1}, {far, 10, 9, 7}, {-1, 10, 8, 7}, {-3, 10, 5, 5}, {0, 4, 3, 1}, {-far, 4, 0, 0},
	} {
		if w.move(step.by, step.n); w.cursor != step.cursor || w.top != step.top {
			t.Errorf("%d: cursor %d, top %d, want %d, %d", i, w.cursor, w.top, step.cursor, step.top)
		}
	}
}

func TestCauses(t *testing.T) {
	var c causes
	for seq := uint64(1); seq <= 10; seq++ {
		e := event.Event{Seq: seq, Kind: "x", Cause: seq / 2}
		if seq == 3 || seq == 7 {
			e.Kind = "fault.injected"
		}
		c.note(e)
	}
	if d := cmp.Diff([]uint64{4, 5}, c.effects(2)); d != "" {
		t.Error(d)
	}
	for _, tc := range []struct {
		from  uint64
		after bool
		want  uint64
	}{{1, true, 3}, {3, true, 7}, {7, true, 0}, {7, false, 3}, {8, false, 7}, {3, false, 0}} {
		if got, ok := c.fault(tc.from, tc.after); got != tc.want || ok != (tc.want != 0) {
			t.Errorf("from %d, after %t: %d, %t", tc.from, tc.after, got, ok)
		}
	}
	c.forget(4)
	c.forget(2)
	if len(c.effects(3)) != 0 || len(c.effects(4)) != 2 || len(c.faults) != 1 || !c.related(8, 9) {
		t.Errorf("%+v", c)
	}
	c.forget(1000)
	if len(c.links) != 0 || len(c.faults) != 0 {
		t.Errorf("%+v", c)
	}
	c.note(event.Event{Seq: 11, Cause: 10})
	c.note(event.Event{Seq: 14, Cause: 11})
	c.note(event.Event{Seq: 15, Cause: 12}) // lost
	if c.related(11, 15) || !c.related(11, 14) || len(c.effects(12)) != 0 {
		t.Errorf("%+v", c)
	}
	c.note(event.Event{Seq: 1 << 40, Cause: 14})
	if len(c.links) != 1 || c.effects(14) != nil {
		t.Errorf("%d links across a gap without end", len(c.links))
	}
}

// Calls between two events are one row for each client and vCenter, or two.
func TestBursts(t *testing.T) {
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	var l list
	for i := range 30 {
		for _, client := range []string{"ccm", "csi/1"} {
			b := fold.Burst{At: at(i), VCenter: "us", Client: client, Method: fmt.Sprintf("Do%d", i%3), Calls: 2, Mean: 10 * time.Millisecond}
			if i%10 == 9 {
				b.Errors, b.Error = 1, "no\nway"
			}
			l.addBurst(&b)
		}
		if i == 14 {
			l.add(entry{at: at(i), seq: 1})
		}
	}
	var got []string
	for _, r := range l.rows {
		if r.burst == nil {
			got = append(got, "event")
			continue
		}
		got = append(got, r.burst.tag()+" "+r.burst.who(true)+" "+r.burst.what()+": "+r.burst.count()+", "+r.burst.failed())
	}
	if d := cmp.Diff([]string{
		"api ccm → us 3 methods: 28 calls in 14s, 10ms each, 0 failed", "csi → us 3 methods: 28 calls in 14s, 10ms each, 0 failed",
		"api ccm → us Do0: 2 calls, 10ms each, 1 failed: no way", "csi → us Do0: 2 calls, 10ms each, 1 failed: no way",
		"event",
		"api ccm → us 3 methods: 26 calls in 13s, 10ms each, 0 failed", "csi → us 3 methods: 26 calls in 13s, 10ms each, 0 failed",
		"api ccm → us 2 methods: 4 calls in 10s, 10ms each, 2 failed: no way", "csi → us 2 methods: 4 calls in 10s, 10ms each, 2 failed: no way",
	}, got); d != "" {
		t.Error(d)
	}
	if one := newBurst(&fold.Burst{Calls: 1, Mean: time.Second}).count(); one != "1 call, 1s" {
		t.Errorf("%q", one)
	}
}
