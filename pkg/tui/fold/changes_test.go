package fold_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
)

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
