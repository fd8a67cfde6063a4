package overview_test

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/overview"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

// about is what is selected, in words.
func about(o *overview.Screen) string {
	s, ok := o.Subject()
	if !ok {
		return "nothing"
	}
	return strings.Join([]string{s.Kind, s.VCenter, s.Name}, " ")
}

func TestKeys(t *testing.T) {
	const (
		worker = "node  worker-west-1" // off
		first  = "vcenter  eu"         // "eu ▸ eu-all ▸ eu/dceu"
		last   = worker
	)
	for _, tc := range []struct {
		name string
		keys string
		want string
	}{
		{"at first", "", first},
		{"down", "j", "host eu esx-eu-1"},
		{"down twice", "down down", "node  worker-eu-1"},
		{"up", "j j k", "host eu esx-eu-1"},
		{"up key", "j up", first},
		{"not beyond the first", "k k", first},
		{"last", "G", last},
		{"end", "end", last},
		{"first again", "G g", first},
		{"home", "G home", first},
		{"page down", "pgdown", last},
		{"page up", "G pgup", first},
		{"ctrl+d", "ctrl+d", last},
		{"ctrl+u", "G ctrl+u", first},
		{"a region is no subject", "j j j j j", "nothing"},
		{"next trouble", "n", worker},
		{"there is no other", "n n", worker},
		{"trouble before", "N", worker},
		{"fold around a VM", "n space", "host us esx-west-2"},
		{"trouble that is folded", "- n", worker},
		{"fold all", "n -", "nothing"},
		{"fold all, the other one", "G _", "nothing"},
		{"fold, and down", "space j", "nothing"},
		{"open again", "space space j", "host eu esx-eu-1"},
		{"open all", "- + j", "host eu esx-eu-1"},
		{"open all, the other one", "- = j", "host eu esx-eu-1"},
		{"left to the group", "n left", "host us esx-west-2"},
		{"left folds", "j left j", "host eu esx-eu-2"},
		{"left, the other one", "j h j", "host eu esx-eu-2"},
		{"left goes up", "n left left left", "vcenter  us"},
		{"right opens", "- right j", "host eu esx-eu-1"},
		{"right goes in", "right", "host eu esx-eu-1"},
		{"right on a VM", "n right", worker},
		{"sorted, the cursor stays", "n s", worker},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := screen(tuitest.At(26*time.Second), 100, 27)
			press(t, o, strings.Fields(tc.keys)...)
			if got := about(o); got != tc.want {
				t.Errorf("after %q it is about %q, not %q:\n%s", tc.keys, got, tc.want, ansi.Strip(o.View()))
			}
		})
	}
}

func TestKeysOfOthers(t *testing.T) {
	o := screen(tuitest.At(26*time.Second), 100, 27)
	for _, k := range []string{"?", ":", "/", "1", "tab", "esc", "q", "l", "w", "enter", "y", "p", "f", "o", "x"} {
		if what, taken := o.Handle(tuitest.Key(k)); taken || what != nil {
			t.Errorf("%s: taken %t, %v", k, taken, what)
		}
	}
}

// Every key that is offered is taken, and the help has a word for it.
func TestBindings(t *testing.T) {
	o := screen(tuitest.At(26*time.Second), 100, 27)
	for _, b := range o.Bindings() {
		if !b.Enabled() || b.Help().Key == "" || b.Help().Desc == "" {
			t.Errorf("%v: enabled %t, help %v", b.Keys(), b.Enabled(), b.Help())
		}
		press(t, o, b.Keys()...)
	}
	o.SetFilter("west")
	for _, k := range []string{"space", "-", "+", "left", "right"} {
		if _, taken := o.Handle(tuitest.Key(k)); taken {
			t.Errorf("%s folds what a filter has found", k)
		}
	}
}

func TestWithoutTrouble(t *testing.T) {
	o := screen(tuitest.At(14*time.Second), 100, 27)
	if _, taken := o.Handle(tuitest.Key("n")); taken {
		t.Error("n looks for trouble, and there is none")
	}
}

func TestSort(t *testing.T) {
	s := tuitest.Big(100)
	o := screen(s, 140, 42)
	names := func() (names []string) {
		for l := range strings.SplitSeq(ansi.Strip(o.View()), "\n") {
			if i := strings.Index(l, "worker-east-"); i >= 0 && !strings.HasPrefix(l, "──") {
				names = append(names, l[i:i+len("worker-east-0001")])
			}
		}
		return names
	}
	o.SetFilter("esx-east-000")
	want := names()
	if !strings.HasSuffix(want[0], "0001") || !strings.HasSuffix(want[1], "0006") {
		t.Fatalf("by name: %v", want)
	}
	press(t, o, "s")
	if got := names(); !strings.HasSuffix(got[0], "0011") { // off, and still Ready
		t.Errorf("by state: %v", got)
	}
	if !has(o, "sorted by state") {
		t.Error("it does not say how it is sorted")
	}
	press(t, o, "s")
	if diff := cmp.Diff(want, names()); diff != "" {
		t.Errorf("by name again (-want +got):\n%s", diff)
	}
}

func TestFilter(t *testing.T) {
	for _, tc := range []struct {
		filter string
		want   string // what is shown of the tree
	}{
		{"worker-west-1", "us, us-west ▸ us/dcwest, esx-west-2, worker-west-1"},
		{"WEST ready", "us, us-west ▸ us/dcwest, esx-west-1, cp-1"},
		{"unreachable", "us, us-west ▸ us/dcwest, esx-west-2, worker-west-1"},
		{"shutdown off", "us, us-west ▸ us/dcwest, esx-west-2, worker-west-1"},
		{"us-east 2", "us, us-east ▸ us/dceast, esx-east-1, worker-east-1, esx-east-2, worker-east-2"},
		{"esx-eu-2", "eu ▸ eu-all ▸ eu/dceu, esx-eu-2, worker-eu-2"},
		{"198.18.0.13", "us, us-east ▸ us/dceast, esx-east-1, worker-east-1"},
		{"default/data-web-2", "eu ▸ eu-all ▸ eu/dceu, esx-eu-1, worker-eu-1"},
		{"control-plane", "us, us-west ▸ us/dcwest, esx-west-1, cp-1"},
		{"not there", "Nothing here matches “not there”."},
	} {
		t.Run(tc.filter, func(t *testing.T) {
			o := screen(tuitest.At(26*time.Second), 140, 29) // without details
			press(t, o, "-")                                 // what is found is shown all the same
			o.SetFilter(tc.filter)
			if got := tree(o); got != tc.want {
				t.Errorf("it shows %s, not %s", got, tc.want)
			}
			o.SetFilter("")
			if got := tree(o); got != "eu ▸ eu-all ▸ eu/dceu, us" {
				t.Errorf("without the filter it shows %s", got)
			}
		})
	}
}

// tree is the names in the tree, from above.
func tree(o *overview.Screen) string {
	var names []string
	lines := strings.Split(ansi.Strip(o.View()), "\n")
	for _, l := range lines[2 : len(lines)-1] {
		name, _, _ := strings.Cut(strings.TrimLeft(l, " ▎▾▸"), "  ")
		if name != "" {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

func TestChoose(t *testing.T) {
	for _, tc := range []struct {
		subject api.Subject
		want    string
	}{
		{api.Subject{Kind: "node", Name: "worker-west-1"}, "node  worker-west-1"},
		{api.Subject{Kind: "vm", Name: "worker-west-1"}, "node  worker-west-1"},
		{api.Subject{Kind: "vm", VCenter: "us", Name: "cp-1"}, "node  cp-1"},
		{api.Subject{Kind: "vm", VCenter: "eu", Name: "cp-1"}, ""},
		{api.Subject{Kind: "host", VCenter: "us", Name: "esx-west-2"}, "host us esx-west-2"},
		{api.Subject{Kind: "vcenter", Name: "us"}, "vcenter  us"},
		{api.Subject{Kind: "volume", Name: "default/data-web-0"}, ""},
		{api.Subject{Kind: "node", Name: "nobody"}, ""},
	} {
		o := screen(tuitest.At(26*time.Second), 100, 27)
		press(t, o, "-") // folded or not
		if ok := o.Choose(tc.subject); ok != (tc.want != "") {
			t.Errorf("%v: %t", tc.subject, ok)
		} else if ok && about(o) != tc.want {
			t.Errorf("%v: it is about %q", tc.subject, about(o))
		}
	}
}

func TestMouse(t *testing.T) {
	o := screen(tuitest.At(26*time.Second), 100, 27)
	if _, taken := o.Click(30, 4); !taken || about(o) != "node  worker-eu-1" {
		t.Errorf("a click on the third row: %t, %s", taken, about(o))
	}
	if _, taken := o.Click(30, 0); taken {
		t.Error("a click on the title is taken")
	}
	o.Wheel(-2)
	if about(o) != "vcenter  eu" {
		t.Errorf("after the wheel it is about %s", about(o))
	}
	if o.Click(1, 2); has(o, "worker-eu-1") {
		t.Error("a click on its arrow does not fold a group")
	}
}
