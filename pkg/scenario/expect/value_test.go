package expect

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

func TestMatch(t *testing.T) {
	for _, tc := range []struct {
		pattern, text string
		want          bool
	}{
		{"worker-1", "worker-1", true},
		{"worker-1", "worker-11", false},
		{"worker-*", "worker-1", true},
		{"*", "", true},
		{"", "", true},
		{"", "x", false},
		{"w*r-?", "worker-1", true},
		{"w*r-?", "worker-11", false},
		{"*a*b*", "xaxbx", true},
		{"/^w.*1$/", "worker-1", true},
		{"/1/", "worker-2", false},
		{"/dc/vm/x", "/dc/vm/x", true},
		{"/(/", "(", false},
	} {
		if got := Match(tc.pattern, tc.text); got != tc.want {
			t.Errorf("Match(%q, %q) = %v", tc.pattern, tc.text, got)
		}
	}
}

func TestCount(t *testing.T) {
	for text, want := range map[string]string{"3": "3", ">= 2": ">= 2", "<=10": "<= 10", "== 4": "4", "!= 0": "!= 0", "> 1.5": "> 1.5"} {
		c, err := ParseCount(text)
		if err != nil || c.String() != want {
			t.Errorf("%s is %s, %v", text, c, err)
		}
	}
	for _, bad := range []string{"", "some", ">= ", "NaN", "2..4"} {
		if c, err := ParseCount(bad); err == nil {
			t.Errorf("%q is %s", bad, c)
		}
	}
	for text, has := range map[string][3]bool{"2": {false, true, false}, ">= 2": {false, true, true}, "<= 2": {true, true, false}, "> 2": {false, false, true}, "< 2": {true, false, false}, "!= 2": {true, false, true}} {
		c, _ := ParseCount(text)
		if got := [3]bool{c.Has(1), c.Has(2), c.Has(3)}; got != has {
			t.Errorf("%s has %v of 1, 2, 3", text, got)
		}
	}
}

func TestParseSamples(t *testing.T) {
	const text = `# HELP a help
# TYPE a counter
a{x="1",y="with \"quotes\", commas\\ and\nlines"} 2.5 1700000000000
b 3
h_bucket{le="+Inf"} 4
broken{x="1
 nothing
`
	got := ParseSamples(text)
	want := []Sample{
		{"a", map[string]string{"x": "1", "y": "with \"quotes\", commas\\ and\nlines"}, 2.5},
		{"b", map[string]string{}, 3},
		{"h_bucket", map[string]string{"le": "+Inf"}, 4},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A light node of a cluster of others has a taint that no scenario is about.
func TestNoTaints(t *testing.T) {
	f, _ := world.Node.Field("taints")
	for _, tc := range []struct {
		taints []string
		none   bool
	}{
		{nil, true}, {[]string{feed.LightKey + ":NoSchedule"}, true}, {[]string{feed.LightKey + ":NoSchedule", "a=b:NoExecute"}, false},
	} {
		row, _ := world.RowOf(api.Update{Node: &api.Node{Taints: tc.taints}})
		if got := (&Value{}).matches(row, f); got != tc.none {
			t.Errorf("%v: none is %v", tc.taints, got)
		}
	}
}

func TestLabels(t *testing.T) {
	row, _ := world.RowOf(api.Update{Node: &api.Node{Labels: map[string]string{"zone": "a", "empty": ""}}})
	f, ok := world.Node.Field("labels")
	if !ok {
		t.Fatal("nodes have no labels")
	}
	text := func(texts ...string) *Value { return &Value{Texts: texts} }
	for _, tc := range []struct {
		name string
		want map[string]*Value
		is   bool
	}{
		{"it", map[string]*Value{"zone": text("a")}, true},
		{"another", map[string]*Value{"zone": text("b")}, false},
		{"one of two", map[string]*Value{"zone": text("b", "a")}, true},
		{"any", map[string]*Value{"zone": text("*")}, true},
		{"none", map[string]*Value{"x": text()}, true},
		{"none, but there is", map[string]*Value{"zone": text()}, false},
		{"none, but an empty one", map[string]*Value{"empty": text()}, false},
		{"an empty one", map[string]*Value{"empty": text("")}, true},
		{"any of what is not there", map[string]*Value{"x": text("*")}, false},
		{"empty of what is not there", map[string]*Value{"x": text("")}, false},
		{"not it", map[string]*Value{"zone": {Not: text("b")}}, true},
		{"not none", map[string]*Value{"x": {Not: text()}}, false},
		{"one of them wrong", map[string]*Value{"zone": text("a"), "x": text("y")}, false},
		{"no labels at all", map[string]*Value{}, false},
	} {
		if got := (&Value{Map: tc.want}).matches(row, f); got != tc.is {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

func TestNoSuchMetric(t *testing.T) {
	zero := Count{Op: "=", N: 0}
	tracker := (&Expectation{Metric: &Metric{Component: "ccm", Name: "up", Value: &zero}}).Track(nil)
	for _, tc := range []struct {
		samples map[string][]Sample
		met     bool
		was     string
	}{
		{nil, false, "ccm does not serve its metrics"},
		{map[string][]Sample{"ccm": {{Name: "down"}}}, false, "ccm has no such metric"},
		{map[string][]Sample{"ccm": {{Name: "up"}}}, true, "it is 0, of 1 series"},
	} {
		v := &View{World: world.New(), Samples: tc.samples}
		if got := tracker.Evaluate(v).Met; got != tc.met || tracker.Describe(v)[0] != tc.was {
			t.Errorf("%v, %s; want %v, %s", got, tracker.Describe(v), tc.met, tc.was)
		}
	}
}

// TestEventBeforeTheMark: an event that arrives after the mark and happened before it does not count.
func TestEventBeforeTheMark(t *testing.T) {
	w, now := world.New(), time.Now()
	v := &View{World: w}
	mark := &Mark{Seq: 1, Time: now}
	tracker := (&Expectation{Event: &Event{Kind: "x"}}).Track(func(string) *Mark { return mark })
	w.Apply(api.Update{Event: &event.Event{Seq: 2, Kind: "x", Time: now.Add(-time.Millisecond)}})
	if tracker.Evaluate(v).Met {
		t.Error("it is of before")
	}
	w.Apply(api.Update{Event: &event.Event{Seq: 3, Kind: "x", Time: now}})
	if !tracker.Evaluate(v).Met {
		t.Error("it came")
	}
}
