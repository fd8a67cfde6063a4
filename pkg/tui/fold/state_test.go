package fold_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

func TestVersions(t *testing.T) {
	s := lab(api.Update{Node: &api.Node{Name: "n"}})
	moves(t, s, func() { after(s, time.Second, api.Update{Node: &api.Node{Name: "n"}}) }, world.Node)
	moves(t, s, func() { after(s, time.Second, api.Update{Event: &event.Event{Seq: 1}}) }, world.Event)
	moves(t, s, func() { after(s, time.Second, api.Update{Event: &event.Event{Seq: 1}}) }) // again
	moves(t, s, func() { after(s, time.Second, api.Update{Run: &api.Run{Name: "r"}}) }, fold.Run)
	moves(t, s, func() { tick(s, time.Hour) })
	moves(t, s, func() { tick(s, time.Minute) }) // not back
	if !s.Now().Equal(began.Add(time.Hour)) || s.Run().Name != "r" {
		t.Errorf("it is %s, runs %+v", s.Now(), s.Run())
	}
	if a, b := s.Version(world.Node, world.Event), s.Version(world.Node)+s.Version(world.Event); a != b {
		t.Errorf("together %d, each %d", a, b)
	}
}

// TestCut: a cut leaves the state; after the next sync, rows that were not sent again are gone.
func TestCut(t *testing.T) {
	s := lab(api.Update{Node: &api.Node{Name: "stays"}}, api.Update{Node: &api.Node{Name: "goes"}}, api.Update{VM: &api.VM{VCenter: "vc", Name: "v", MoRef: "vm-1"}})
	why := errors.New("connection refused")
	v := s.Version()
	s.Cut(why)
	if s.IsCut() != why || s.Version() == v || len(s.World().Rows(world.Node)) != 2 {
		t.Errorf("cut: %v, version %d after %d", s.IsCut(), s.Version(), v)
	}
	after(s, time.Minute, api.Update{Node: &api.Node{Name: "stays", Ready: "True"}})
	if s.IsCut() != nil || len(s.World().Rows(world.Node)) != 2 {
		t.Errorf("still cut: %v", s.IsCut())
	}
	after(s, time.Minute, api.Update{Node: &api.Node{Name: "came"}}, api.Update{Synced: true})
	if len(s.World().Rows(world.Node)) != 2 || len(s.World().Rows(world.VM)) != 0 {
		t.Errorf("%+v", s.World().Rows(world.Node))
	}
	for key, want := range map[string]fold.Change{"stays": {Fields: []string{"ready"}}, "came": {}, "goes": {Gone: true}} {
		want.At = began.Add(time.Minute)
		got, ok := s.Changed(world.Node, key)
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("%s: %t %s", key, ok, diff)
		}
	}
	if gone := s.Gone(world.Node); len(gone) != 1 || gone[0].Name != "goes" {
		t.Errorf("gone: %+v", gone)
	}
	s.Cut(why)
	if s.Cut(nil); s.IsCut() != nil {
		t.Error("taken up again, and still cut")
	}
}

func TestCountdown(t *testing.T) {
	s := lab()
	until := began.Add(2500 * time.Millisecond)
	after(s, 0, api.Update{Lease: &api.Lease{ID: "f1", State: "active", Until: &until}}, api.Update{Lease: &api.Lease{ID: "f2", State: "active"}})
	tick(s, 0)
	for _, tc := range []struct {
		at     time.Duration
		ticked bool
		next   time.Duration
	}{
		{400 * time.Millisecond, false, 100 * time.Millisecond},
		{500 * time.Millisecond, true, time.Second},
		{1400 * time.Millisecond, false, 100 * time.Millisecond},
		{2000 * time.Millisecond, true, 500 * time.Millisecond},
		{2500 * time.Millisecond, true, 2500 * time.Millisecond}, // that of the marks
		{3 * time.Second, false, 2 * time.Second},
		{5 * time.Second, true, 0},
	} {
		var kinds []world.Kind
		if tc.ticked {
			kinds = []world.Kind{world.Lease}
		}
		moves(t, s, func() { tick(s, tc.at) }, kinds...)
		if got := s.NextTick(); got != tc.next {
			t.Errorf("%s: next in %s, want %s", tc.at, got, tc.next)
		}
	}
	long := began.Add(time.Hour)
	after(s, 10*time.Second, api.Update{Lease: &api.Lease{ID: "f3", State: "active", Until: &long}})
	tick(s, 20*time.Second)
	if s.NextTick() != time.Second {
		t.Errorf("next in %s", s.NextTick())
	}
	after(s, 30*time.Second, api.Update{Lease: &api.Lease{ID: "f3", State: "healed", Until: &long, Ended: &until}})
	tick(s, 40*time.Second)
	if s.NextTick() != 0 {
		t.Errorf("healed, and next in %s", s.NextTick())
	}
}

func TestRunContinues(t *testing.T) {
	s := lab()
	after(s, 250*time.Millisecond, api.Update{Run: &api.Run{State: "running", Began: began}})
	if s.NextTick() != 750*time.Millisecond {
		t.Errorf("next in %s", s.NextTick())
	}
	moves(t, s, func() { tick(s, 900*time.Millisecond) })
	moves(t, s, func() { tick(s, 1100*time.Millisecond) }, fold.Run)
	after(s, 2*time.Second, api.Update{Run: &api.Run{State: "passed", Began: began}})
	if s.NextTick() != 0 {
		t.Errorf("passed, and next in %s", s.NextTick())
	}
}

// TestRest: without updates the state stops changing: an idle sandbox costs nothing.
func TestRest(t *testing.T) {
	s := tuitest.At(tuitest.Length)
	for range 1000 {
		d := s.NextTick()
		if d == 0 {
			v := s.Version()
			if s.Tick(s.Now().Add(24 * time.Hour)); s.Version() != v {
				t.Error("it changes, and was said not to")
			}
			return
		}
		v := s.Version()
		if s.Tick(s.Now().Add(d)); s.Version() == v {
			t.Errorf("after %s nothing changes, and was said to", d)
		}
	}
	t.Errorf("it does not come to rest: next in %s", s.NextTick())
}

// What is remembered has bounds.
func TestBounds(t *testing.T) {
	s := fold.New(fold.About{}, 100)
	s.Apply(began, api.Update{Synced: true})
	for i := range uint64(10_000) {
		s.Apply(began.Add(time.Duration(i)*time.Second), api.Update{Event: &event.Event{Seq: i + 1}}, api.Update{Node: &api.Node{Name: fmt.Sprint("n", i%10), Version: fmt.Sprint(i)}})
	}
	if n := len(s.World().Events()); n != 100 {
		t.Errorf("%d events", n)
	}
	if len(s.World().Events()) != 100 || s.World().LastEvent() != 10_000 {
		t.Errorf("%d events up to %d", len(s.World().Events()), s.World().LastEvent())
	}
	marked := 0
	for i := range 10 {
		if _, ok := s.Changed(world.Node, fmt.Sprint("n", i)); ok {
			marked++
		}
	}
	if marked != int(fold.Recent/time.Second) {
		t.Errorf("%d rows are marked", marked)
	}
}

func TestAgain(t *testing.T) {
	s := tuitest.At(30 * time.Second)
	fresh := s.Fresh()
	if fresh.World().Synced() || len(fresh.World().Events()) != 0 || fresh.About() != s.About() || fresh.Run() != nil {
		t.Error("something is known")
	}
	if fresh.Version() <= s.Version() || fresh.Version(world.Node) <= s.Version(world.Node) {
		t.Errorf("version %d after %d", fresh.Version(), s.Version())
	}
}

func TestChanged(t *testing.T) {
	n := api.Node{Name: "n", Registered: true, Ready: "True", Taints: []string{"a:NoSchedule"}, Labels: map[string]string{"x": "1"}}
	with := func(f func(n *api.Node)) api.Update {
		c := n
		f(&c)
		return api.Update{Node: &c}
	}
	for _, tc := range []struct {
		name string
		u    api.Update
		want []string // nil: no mark
	}{
		{"as it was", with(func(*api.Node) {}), nil},
		{"a text", with(func(n *api.Node) { n.Ready = "False" }), []string{"ready"}},
		{"a truth", with(func(n *api.Node) { n.Unschedulable = true }), []string{"unschedulable"}},
		{"a list", with(func(n *api.Node) { n.Taints = []string{"b:NoSchedule"} }), []string{"taints"}},
		{"an empty list", with(func(n *api.Node) { n.Taints = nil }), []string{"taints"}},
		{"another list of the same", with(func(n *api.Node) { n.Taints = []string{"a:NoSchedule"} }), nil},
		{"none and an empty list", with(func(n *api.Node) { n.Addresses = []string{} }), nil},
		{"a map", with(func(n *api.Node) { n.Labels = map[string]string{"x": "2"} }), []string{"labels"}},
		{"a time", with(func(n *api.Node) { n.Created = began }), []string{"created"}},
		{"several", with(func(n *api.Node) { n.Zone, n.Ready = "z", "" }), []string{"ready", "zone"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := lab(api.Update{Node: &n})
			if c, ok := s.Changed(world.Node, "n"); ok {
				t.Fatalf("what was there is marked: %+v", c)
			}
			after(s, time.Second, tc.u)
			c, ok := s.Changed(world.Node, "n")
			if diff := cmp.Diff(tc.want, c.Fields); diff != "" || ok != (tc.want != nil) {
				t.Errorf("%+v, %t: %s", c, ok, diff)
			}
			for _, f := range []string{"ready", "taints", "zone"} {
				want := strings.Contains(strings.Join(tc.want, " "), f)
				if got := s.ChangedField(world.Node, "n", f); got != want {
					t.Errorf("%s: changed is %t", f, got)
				}
			}
			if ok && !c.At.Equal(began.Add(time.Second)) {
				t.Errorf("changed at %s", c.At)
			}
		})
	}
}

// Each field of each kind is compared, by its name in JSON.
func TestEveryFieldIsCompared(t *testing.T) {
	for _, tc := range []struct {
		kind world.Kind
		key  string
		u    api.Update
		not  []string // its identity, and what is not compared
	}{
		{world.Node, "n", api.Update{Node: &api.Node{Name: "n"}}, []string{"name"}},
		{world.VM, "vc/vm-1", api.Update{VM: &api.VM{Name: "v", VCenter: "vc", MoRef: "vm-1"}}, []string{"vcenter", "moref"}},
		{world.Host, "vc/h", api.Update{Host: &api.Host{Name: "h", VCenter: "vc"}}, []string{"name", "vcenter"}},
		{world.VCenter, "vc", api.Update{VCenter: &api.VCenter{Name: "vc"}}, []string{"name", "calls"}},
		{world.Component, "c", api.Update{Component: &api.Component{Name: "c"}}, []string{"name"}},
		{world.Lease, "f1", api.Update{Lease: &api.Lease{ID: "f1"}}, []string{"id"}},
		{world.Volume, "pvc", api.Update{Volume: &api.Volume{Name: "pvc"}}, []string{"name"}},
		{world.Attachment, "a", api.Update{Attachment: &api.Attachment{Name: "a"}}, []string{"name"}},
	} {
		row, _ := world.RowOf(tc.u)
		typ := reflect.TypeOf(row.Value)
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			v := reflect.New(typ).Elem()
			v.Set(reflect.ValueOf(row.Value))
			fill(t, v.Field(i))
			u := api.Update{}
			target := reflect.ValueOf(&u).Elem().FieldByName(typ.Name())
			target.Set(v.Addr())
			s := lab(tc.u)
			after(s, time.Second, u)
			c, ok := s.Changed(tc.kind, tc.key)
			same := false
			for _, not := range tc.not {
				same = same || not == name
			}
			if diff := cmp.Diff([]string{name}, c.Fields); !same && (diff != "" || !ok) {
				t.Errorf("%s.%s: %s", tc.kind, name, diff)
			}
		}
	}
}

// fill gives a field another value.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString("other")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint64:
		v.SetUint(7)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("k"), reflect.ValueOf("v"))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Struct:
		v.Set(reflect.ValueOf(began))
	default:
		t.Fatalf("%s: a kind of field that is not known here", v.Type())
	}
}

// Marks go one by one, each after its time, and that is a change of the kind.
func TestMarksGo(t *testing.T) {
	s := lab(api.Update{Node: &api.Node{Name: "n"}})
	if s.NextTick() != 0 {
		t.Errorf("something changes in %s, and nothing has", s.NextTick())
	}
	after(s, 0, api.Update{Node: &api.Node{Name: "n", Ready: "False"}})
	after(s, 3*time.Second, api.Update{Node: &api.Node{Name: "n", Ready: "False", Zone: "z"}})
	fields := func() []string { c, _ := s.Changed(world.Node, "n"); return c.Fields }
	if diff := cmp.Diff([]string{"ready", "zone"}, fields()); diff != "" || s.NextTick() != 2*time.Second {
		t.Errorf("next in %s: %s", s.NextTick(), diff)
	}
	moves(t, s, func() { tick(s, fold.Recent-1) })
	moves(t, s, func() { tick(s, fold.Recent) }, world.Node)
	if diff := cmp.Diff([]string{"zone"}, fields()); diff != "" || s.NextTick() != 3*time.Second {
		t.Errorf("next in %s: %s", s.NextTick(), diff)
	}
	moves(t, s, func() { tick(s, 3*time.Second+fold.Recent) }, world.Node)
	if _, ok := s.Changed(world.Node, "n"); ok || s.NextTick() != 0 {
		t.Errorf("still %v, next in %s", fields(), s.NextTick())
	}
}

func TestNewAndGone(t *testing.T) {
	s := lab(api.Update{Node: &api.Node{Name: "old"}})
	is := func(key string, fields []string, gone bool, marked bool) {
		t.Helper()
		c, ok := s.Changed(world.Node, key)
		if ok != marked || c.Gone != gone || cmp.Diff(fields, c.Fields) != "" {
			t.Errorf("%s: %+v, %t", key, c, ok)
		}
	}
	after(s, time.Second, api.Update{Node: &api.Node{Name: "b"}}, api.Update{Node: &api.Node{Name: "a"}})
	is("a", nil, false, true)
	after(s, 2*time.Second, api.Update{Node: &api.Node{Name: "a", Ready: "True"}})
	is("a", nil, false, true) // it is still new
	if !s.ChangedField(world.Node, "a", "zone") {
		t.Error("a field of a new row is not new")
	}
	tick(s, time.Second+fold.Recent)
	is("a", []string{"ready"}, false, true)
	is("b", nil, false, false)

	after(s, 10*time.Second, api.Update{Node: &api.Node{Name: "old"}, Deleted: true}, api.Update{Node: &api.Node{Name: "a"}, Deleted: true}, api.Update{Node: &api.Node{Name: "never"}, Deleted: true})
	is("old", nil, true, true)
	is("never", nil, false, false)
	if s.ChangedField(world.Node, "old", "name") {
		t.Error("a field changed of what is gone")
	}
	gone := s.Gone(world.Node)
	if len(gone) != 2 || gone[0].Name != "a" || gone[0].Value.(api.Node).Ready != "True" || gone[1].Name != "old" || s.Gone(world.VM) != nil {
		t.Errorf("gone: %+v", gone)
	}
	after(s, 11*time.Second, api.Update{Node: &api.Node{Name: "a"}})
	is("a", nil, false, true) // another one of that name
	if len(s.Gone(world.Node)) != 1 {
		t.Errorf("gone: %+v", s.Gone(world.Node))
	}
	moves(t, s, func() { tick(s, 10*time.Second+fold.Recent) }, world.Node)
	if len(s.Gone(world.Node)) != 0 {
		t.Errorf("gone: %+v", s.Gone(world.Node))
	}
}
