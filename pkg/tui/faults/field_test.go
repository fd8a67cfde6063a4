package faults

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

func TestFieldKeys(t *testing.T) {
	choices := []string{"", "one", "all"}
	suggest := func(value string) string {
		if value == "wor" {
			return "ker"
		}
		return ""
	}
	for _, tt := range []struct {
		name, value string
		choices     []string
		keys, want  string // | is the cursor
	}{
		{"written", "", nil, "a b space ä", "ab ä|"},
		{"in the middle", "abc", nil, "left left X", "aX|bc"},
		{"cut off before", "abc", nil, "left backspace", "a|c"},
		{"cut off after", "abc", nil, "home delete", "|bc"},
		{"at the ends", "abc", nil, "home backspace left end delete right", "abc|"},
		{"words", "one two  ", nil, "ctrl+w", "one |"},
		{"to the begin", "one two", nil, "left ctrl+u", "|o"},
		{"to the end", "one two", nil, "ctrl+a right ctrl+k", "o|"},
		{"ctrl keys move", "abc", nil, "ctrl+b ctrl+b ctrl+f x", "abx|c"},
		{"a suggestion", "", nil, "w o r right", "worker|"},
		{"a suggestion at the end", "", nil, "w o r ctrl+e", "worker|"},
		{"no suggestion in the middle", "", nil, "w o r left right", "wor|"},
		{"a choice", "", choices, "right", "one|"},
		{"round", "", choices, "left left left", "|"},
		{"written over a choice", "", choices, "right 5 0 %", "50%|"},
		{"a choice from what is none", "", choices, "x right", "|"},
		{"backwards from what is none", "", choices, "x left", "all|"},
	} {
		f := &field{choices: tt.choices, suggest: suggest}
		f.write(tt.value)
		for k := range strings.FieldsSeq(tt.keys) {
			if !f.handle(tuitest.Key(k)) {
				t.Errorf("%s: %s is not taken", tt.name, k)
			}
		}
		got := string(f.Runes[:f.At]) + "|" + string(f.Runes[f.At:])
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if (&field{}).handle(tuitest.Key("f1")) {
		t.Error("a key that writes nothing is taken")
	}
}

// What is pasted cannot move the cursor of the terminal.
func TestFieldIsClean(t *testing.T) {
	f := &field{}
	f.typed("a\x1b[2Jb\nc\x00")
	if f.text() != `ab c\x00` {
		t.Errorf("%q", f.text())
	}
}

func TestFieldView(t *testing.T) {
	th := theme.Mono()
	for _, f := range []*field{
		{empty: "nothing said"},
		{Edit: text.Edit{Runes: []rune("a value that is longer than there is room for"), At: 45}},
		{Edit: text.Edit{Runes: []rune("a value that is longer than there is room for"), At: 20}},
		{Edit: text.Edit{Runes: []rune("世界世界世界世界世界"), At: 10}},
		{Edit: text.Edit{Runes: []rune("one"), At: 3}, choices: []string{"one", "two"}},
		{Edit: text.Edit{Runes: []rune("wor"), At: 3}, suggest: func(string) string { return "ker-with-a-long-name-of-its-own" }},
		{},
	} {
		for width := range 40 {
			for _, focused := range []bool{true, false} {
				if got := text.Width(f.view(th, width, focused)); got != width {
					t.Errorf("%q, focused %t: %d cells, want %d", f.String(), focused, got, width)
				}
			}
		}
	}
	f := &field{Edit: text.Edit{Runes: []rune("the end is seen"), At: 15}}
	if got := ansi.Strip(f.view(th, 10, true)); got != "d is seen " {
		t.Errorf("where one writes is not seen: %q", got)
	}
}

func TestBadParam(t *testing.T) {
	for _, tt := range []struct {
		param       api.FaultParam
		value, want string
	}{
		{api.FaultParam{Required: true}, "", "has to be given"},
		{api.FaultParam{}, "", ""},
		{api.FaultParam{Type: "text"}, "anything", ""},
		{api.FaultParam{Type: "duration"}, "1m30s", ""},
		{api.FaultParam{Type: "duration"}, "3", `"3" is no duration like 250ms or 1m30s`},
		{api.FaultParam{Type: "duration"}, "-3s", `"-3s" is no duration like 250ms or 1m30s`},
		{api.FaultParam{Type: "number"}, "20", ""},
		{api.FaultParam{Type: "number"}, "-1", `"-1" is no whole number from 0`},
		{api.FaultParam{Type: "number"}, "many", `"many" is no whole number from 0`},
		{api.FaultParam{Type: "fraction"}, "0.5", ""},
		{api.FaultParam{Type: "fraction"}, "25%", ""},
		{api.FaultParam{Type: "fraction"}, "120%", `"120%" is no fraction from 0 to 1, like 0.25 or 25%`},
		{api.FaultParam{Type: "fraction"}, "NaN", `"NaN" is no fraction from 0 to 1, like 0.25 or 25%`},
		{api.FaultParam{Type: "bool"}, "true", ""},
		{api.FaultParam{Type: "bool"}, "yes", `"yes" is neither true nor false`},
		{api.FaultParam{Choices: []string{"zone", "region"}}, "region", ""},
		{api.FaultParam{Choices: []string{"zone", "region"}}, "regoin", `"regoin" is none of zone, region; did you mean "region"?`},
		{api.FaultParam{Choices: []string{"zone", "region"}}, "rack", `"rack" is none of zone, region`},
	} {
		if got := badParam(tt.param, tt.value); got != tt.want {
			t.Errorf("%+v, %q: %q, want %q", tt.param, tt.value, got, tt.want)
		}
	}
}

func TestBadMode(t *testing.T) {
	for value, ok := range map[string]bool{
		"": true, "one": true, "all": true, "3": true, "50%": true, "0.5%": true, "100%": true,
		"0": false, "-1": false, "0%": false, "101%": false, "some": false, "%": false, "NaN%": false,
	} {
		if got := badMode(value); (got == "") != ok {
			t.Errorf("%q: %q", value, got)
		}
	}
}

func TestBadFor(t *testing.T) {
	for value, ok := range map[string]bool{"": true, "30s": true, "1h5m": true, "0s": false, "-1s": false, "30": false, "soon": false} {
		if got := badFor(value); (got == "") != ok {
			t.Errorf("%q: %q", value, got)
		}
	}
}

func TestSelector(t *testing.T) {
	for _, tt := range []struct {
		value string
		want  api.Selector
		all   bool
		err   string
	}{
		{value: ""},
		{value: "worker-1  us/worker-* ", want: api.Selector{Names: []string{"worker-1", "us/worker-*"}}},
		{value: "zone=us-west role=worker", want: api.Selector{Zone: "us-west", Role: "worker"}},
		{
			value: "vcenter=us datacenter=dc cluster=c host=h region=r labels=a=b,c!=d",
			want:  api.Selector{VCenter: "us", Datacenter: "dc", Cluster: "c", Host: "h", Region: "r", Labels: "a=b,c!=d"},
		},
		{value: "all", all: true},
		{value: "all zone=us-west", want: api.Selector{Zone: "us-west"}, all: true},
		{value: `'/dc/vm/my vm' zone="us west" ''`, want: api.Selector{Names: []string{"/dc/vm/my vm", ""}, Zone: "us west"}},
		{value: "all worker-1", err: `"all" and names exclude each other`},
		{value: "zones=us-west", err: "zones= is nothing to choose by; did you mean zone=?"},
		{value: "color=red", err: "color= is nothing to choose by; there is vcenter, datacenter, cluster, host, region, zone, role, labels"},
		{value: "zone=", err: "zone= has no value"},
		{value: "zone=a zone=b", err: "zone= is there twice"},
		{value: "'worker", err: "a ' is not closed"},
	} {
		got, all, err := selector(tt.value)
		said := ""
		if err != nil {
			said, got = err.Error(), api.Selector{}
		}
		if d := cmp.Diff(tt.want, got); d != "" || all != tt.all || said != tt.err {
			t.Errorf("%q: all %t, error %q, want %q (-want +got):\n%s", tt.value, all, said, tt.err, d)
		}
	}
}

func TestQuoted(t *testing.T) {
	for _, name := range []string{"worker-1", "my vm", "it's", `a "b" c`} {
		s, _, err := selector(quoted(name))
		if err != nil || len(s.Names) != 1 || s.Names[0] != name {
			t.Errorf("%s: %v, %v", quoted(name), s.Names, err)
		}
	}
}

func TestContinues(t *testing.T) {
	k := known{state: tuitest.At(15 * time.Second)}
	for _, tt := range []struct{ value, kind, want string }{
		{"worker-w", "vm", "est-1"},
		{"worker-west-1 worker-eu", "vm", "-1"},
		{"worker-west-1", "vm", ""},
		{"worker-west-1 ", "vm", ""},
		{"", "vm", ""},
		{"zo", "vm", "ne="},
		{"al", "vm", "l"},
		{"all", "vm", ""},
		{"zone=us-w", "vm", "est"},
		{"zone=us-west", "vm", ""},
		{"role=c", "vm", "ontrol-plane"},
		{"region=e", "host", "u"},
		{"host=esx-w", "vm", "est-1"},
		{"datacenter=dce", "vm", "ast"},
		{"u", "vcenter", "s"},
		{"c", "component", "cm"},
		{"default/data", "volume", "-web-0"},
		{"color=r", "vm", ""},
		{"'worker", "vm", ""},
	} {
		if got := k.continues(tt.value, tt.kind); got != tt.want {
			t.Errorf("%q of a %s: %q, want %q", tt.value, tt.kind, got, tt.want)
		}
	}
}

func TestStranger(t *testing.T) {
	k := known{state: tuitest.At(15 * time.Second)}
	for _, tt := range []struct{ value, kind, want string }{
		{"worker-west-1", "vm", ""},
		{"us/worker-west-1", "vm", ""},
		{"eu/worker-west-1", "vm", `"eu/worker-west-1" is not known here; did you mean "worker-west-1"?`},
		{"worker-wst-1", "vm", `"worker-wst-1" is not known here; did you mean "worker-west-1"?`},
		{"nobody", "vm", `"nobody" is not known here`},
		{"nobod*", "vm", ""},
		{"/dc/vm/nobody", "vm", ""},
		{"us/dc/vm/nobody", "vm", ""},
		{"thin", "datastore", ""}, // of which nothing is known
		{"'", "vm", ""},
	} {
		if got := k.stranger(tt.value, tt.kind); got != tt.want {
			t.Errorf("%q of a %s: %q, want %q", tt.value, tt.kind, got, tt.want)
		}
	}
}

// A name that several have goes with its vCenter.
func TestNames(t *testing.T) {
	s := fold.New(fold.About{}, 0)
	for _, v := range []api.VM{{Name: "a", VCenter: "us", MoRef: "1"}, {Name: "w", VCenter: "us", MoRef: "2"}, {Name: "w", VCenter: "eu", MoRef: "2"}} {
		s.Apply(tuitest.Began, api.Update{VM: &v})
	}
	k := known{state: s}
	if d := cmp.Diff([]string{"a", "eu/w", "us/w"}, k.names("vm")); d != "" {
		t.Error(d)
	}
	for want, subject := range map[string]api.Subject{
		"a": {Kind: "vm", VCenter: "us", Name: "a"}, "eu/w": {Kind: "vm", VCenter: "eu", Name: "w"}, "w": {Kind: "vm", Name: "w"},
		"us": {Kind: "vcenter", VCenter: "us", Name: "us"},
	} {
		if got := k.called(subject); got != want {
			t.Errorf("%v is called %s, want %s", subject, got, want)
		}
	}
}

func TestRelated(t *testing.T) {
	s := tuitest.At(15 * time.Second)
	node, vm := api.Subject{Kind: "node", Name: "worker-eu-1"}, api.Subject{Kind: "vm", VCenter: "eu", Name: "worker-eu-1"}
	nodeOf := api.Subject{Kind: "node", VCenter: "eu", Name: "worker-eu-1"}
	for _, tt := range []struct {
		of   api.Subject
		want []api.Subject
	}{
		{node, []api.Subject{vm, node}}, // what happens to the VM first
		{vm, []api.Subject{vm, nodeOf}},
		{api.Subject{Kind: "vm", VCenter: "us", Name: "worker-eu-1"}, []api.Subject{{Kind: "vm", VCenter: "us", Name: "worker-eu-1"}}},
		{api.Subject{Kind: "host", VCenter: "us", Name: "h"}, []api.Subject{{Kind: "host", VCenter: "us", Name: "h"}}},
		{api.Subject{Kind: "component", Name: "ccm"}, []api.Subject{{Kind: "component", Name: "ccm"}, {Kind: "sandbox"}}},
	} {
		if d := cmp.Diff(tt.want, related(tt.of, s)); d != "" {
			t.Errorf("%v (-want +got):\n%s", tt.of, d)
		}
	}
}
