package volumes_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/volumes"
)

var _ interface {
	panel.Panel
	panel.Filterer
	panel.Selector
	panel.Chooser
	panel.Clicker
} = (*volumes.Screen)(nil)

var sizes = [][2]int{{80, 21}, {100, 27}, {140, 42}, {200, 57}}

func screen(s *fold.State, width, height int) *volumes.Screen {
	v := volumes.New()
	v.SetTheme(theme.Mono())
	v.SetSize(width, height)
	v.SetState(s)
	return v
}

func has(v *volumes.Screen, text string) bool { return strings.Contains(ansi.Strip(v.View()), text) }

func TestFrames(t *testing.T) {
	for _, at := range []struct {
		name string
		at   time.Duration
	}{
		{"detached", 10*time.Second + 250*time.Millisecond},
		{"in-use", 16 * time.Second},
		{"held", 27 * time.Second},    // the pod must end, and no kubelet can confirm it
		{"blocked", 30 * time.Second}, // wanted on another node
		{"detaching", 47*time.Second + 500*time.Millisecond},
		{"attaching", 48 * time.Second},
	} {
		for _, size := range sizes {
			name := fmt.Sprintf("%s-%dx%d", at.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				v := screen(tuitest.At(at.at), size[0], size[1])
				tuitest.Fills(t, v.View(), size[0], size[1])
				tuitest.Golden(t, name, v.View())
			})
		}
	}
}

func TestThemes(t *testing.T) {
	for _, th := range []*theme.Theme{theme.Dark(), theme.Light(), theme.Mono()} {
		t.Run(th.Name, func(t *testing.T) {
			v := screen(tuitest.At(30*time.Second), 100, 27)
			v.SetTheme(th)
			tuitest.Fills(t, v.View(), 100, 27)
			tuitest.Colored(t, "theme-"+th.Name, v.View())
		})
	}
}

func TestFillsAnyPlace(t *testing.T) {
	states := map[string]*fold.State{"story": tuitest.At(30 * time.Second), "empty": fold.New(tuitest.About(), 0), "big": tuitest.Big(100)}
	for name, s := range states {
		v := screen(s, 80, 21)
		for width := 20; width < 230; width += 7 {
			for _, height := range []int{5, 8, 16, 17, 18, 31, 60} {
				v.SetSize(width, height)
				t.Run(fmt.Sprintf("%s-%dx%d", name, width, height), func(t *testing.T) { tuitest.Fills(t, v.View(), width, height) })
			}
		}
	}
}

func TestEmpty(t *testing.T) {
	v := screen(fold.New(tuitest.About(), 0), 80, 21)
	tuitest.Golden(t, "empty-80x21", v.View())
	for _, b := range v.Bindings() {
		if b.Enabled() {
			t.Errorf("%s does nothing here, and is offered", b.Help().Key)
		}
	}
	if s, ok := v.Subject(); ok {
		t.Errorf("it is about %v", s)
	}
}

func TestKeys(t *testing.T) {
	claim := func(n string) string { return "default/data-web-" + n }
	for _, tc := range []struct {
		name, keys, want string
	}{
		{"at first", "", claim("0")},
		{"down", "j", claim("1")},
		{"down key", "down", claim("1")},
		{"up", "j k", claim("0")},
		{"up key", "down up", claim("0")},
		{"last", "G", claim("2")},
		{"first", "G g", claim("0")},
		{"end and home", "end home", claim("0")},
		{"pages", "pgdown", claim("2")},
		{"pages back", "ctrl+d ctrl+u", claim("0")},
		{"next that waits", "j n", claim("0")},
		{"the same, if there is no other", "n", claim("0")},
		{"before that waits", "G N", claim("0")},
		{"sorted, the cursor stays", "G s", claim("2")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := screen(tuitest.At(30*time.Second), 100, 27)
			for k := range strings.FieldsSeq(tc.keys) {
				if what, taken := v.Handle(tuitest.Key(k)); !taken || what != nil {
					t.Fatalf("%s: taken %t, %#v", k, taken, what)
				}
			}
			if got, _ := v.Subject(); got.Name != tc.want || got.Kind != "volume" {
				t.Errorf("it is about %v, not %s", got, tc.want)
			}
		})
	}
}

func TestKeysOfOthers(t *testing.T) {
	v := screen(tuitest.At(30*time.Second), 100, 27)
	for _, k := range []string{"?", ":", "/", "1", "tab", "esc", "q", "l", "w", "enter", "y", "p", "f", "o", "x"} {
		if what, taken := v.Handle(tuitest.Key(k)); taken || what != nil {
			t.Errorf("%s: taken %t, %v", k, taken, what)
		}
	}
}

func TestIntents(t *testing.T) {
	s := tuitest.At(30 * time.Second)
	v := screen(s, 100, 27)
	var newest uint64
	for _, e := range s.World().Events() {
		if e.Kind == "pod.failed-attach-volume" {
			newest = e.Seq
		}
	}
	out := func(remove bool) intent.Intent {
		return intent.OutOfService{OutOfServiceRequest: api.OutOfServiceRequest{Node: "worker-west-1", Remove: remove}}
	}
	for key, want := range map[string]intent.Intent{
		"space": intent.Chain{Seq: newest},
		"t":     intent.Chain{Seq: newest},
		"d":     intent.Prompt{Text: "volume detach default/data-web-0"},
		"O":     out(false),
	} {
		if got, taken := v.Handle(tuitest.Key(key)); !taken || !cmp.Equal(got, want) {
			t.Errorf("%s: taken %t, %#v, not %#v", key, taken, got, want)
		}
	}

	n := s.World().Rows(world.Node)
	for _, row := range n {
		if node := row.Value.(api.Node); node.Name == "worker-west-1" {
			node.Taints = append([]string{"node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"}, node.Taints...)
			s.Apply(s.Now(), api.Update{Node: &node})
		}
	}
	v.SetState(s)
	if got, _ := v.Handle(tuitest.Key("O")); !cmp.Equal(got, out(true)) {
		t.Errorf("O of a node that is out of service: %#v", got)
	}
	if !has(v, "out of service") {
		t.Error("the chain does not say that the node is out of service")
	}
}

// What cannot be done is not offered.
func TestDisabled(t *testing.T) {
	s := fold.New(tuitest.About(), 0)
	s.Apply(tuitest.Began, api.Update{Volume: &api.Volume{Name: "default/a", Claim: "default/a", State: api.VolumePending, Waits: "the scheduler"}}, api.Update{Synced: true})
	v := screen(s, 100, 27)
	for _, k := range []string{"d", "O"} {
		if what, taken := v.Handle(tuitest.Key(k)); taken {
			t.Errorf("%s of a claim without a volume: %v", k, what)
		}
	}
	s.Apply(tuitest.Began, api.Update{Volume: &api.Volume{Name: "my disk", State: api.VolumeInUse, VM: "w", Driver: "csi.vsphere.vmware.com"}})
	v.SetState(s)
	v.Choose(api.Subject{Kind: "volume", Name: "my disk"})
	if got, _ := v.Handle(tuitest.Key("d")); got != (intent.Prompt{Text: "volume detach 'my disk'"}) {
		t.Errorf("d of a volume with a space in its name: %#v", got)
	}
	v.Choose(api.Subject{Kind: "volume", Name: "default/a"})
	if got, _ := v.Handle(tuitest.Key("t")); got != (intent.Say{Text: "no events about default/a"}) {
		t.Errorf("t of a volume without events: %#v", got)
	}
}

func TestBindings(t *testing.T) {
	v := screen(tuitest.At(30*time.Second), 100, 27)
	for _, b := range v.Bindings() {
		if !b.Enabled() || b.Help().Key == "" || b.Help().Desc == "" {
			t.Errorf("%v: enabled %t, help %v", b.Keys(), b.Enabled(), b.Help())
		}
		for _, k := range b.Keys() {
			if _, taken := v.Handle(tuitest.Key(k)); !taken {
				t.Errorf("%s is offered and not taken", k)
			}
			v.Choose(api.Subject{Kind: "volume", Name: "default/data-web-0"})
		}
	}
}

func TestFilter(t *testing.T) {
	for filter, want := range map[string]string{
		"":                 "default/data-web-0 default/data-web-1 default/data-web-2",
		"BLOCKED":          "default/data-web-0",
		"in-use eu":        "default/data-web-2",
		"worker-east-1":    "default/data-web-1",
		"default/web-2":    "default/data-web-2",
		"pvc-1f6b3c52":     "default/data-web-0",
		"5c1d0b2f":         "default/data-web-1",
		"detached by":      "default/data-web-0",
		"nothing has this": "",
	} {
		v := screen(tuitest.At(30*time.Second), 100, 27)
		v.SetFilter(filter)
		var got []string
		for l := range strings.SplitSeq(ansi.Strip(v.View()), "\n") {
			if f := strings.Fields(l); len(f) > 1 && strings.HasPrefix(f[0], "default/data") {
				got = append(got, f[0])
			}
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", filter, diff)
		}
	}
}

func TestSort(t *testing.T) {
	s := tuitest.At(30 * time.Second)
	blocked := s.World().Rows(world.Volume)[0].Value.(api.Volume)
	blocked.Name, blocked.Claim = "pvc-last", "zoo/last"
	s.Apply(s.Now(), api.Update{Volume: &blocked})
	v := screen(s, 100, 27)
	v.Handle(tuitest.Key("s"))
	lines := strings.Split(ansi.Strip(v.View()), "\n")
	if !strings.Contains(lines[2], "data-web-0") || !strings.Contains(lines[3], "zoo/last") {
		t.Errorf("those that are blocked are not first:\n%s", strings.Join(lines, "\n"))
	}
}

func TestChoose(t *testing.T) {
	v := screen(tuitest.At(30*time.Second), 100, 27)
	for _, name := range []string{"default/data-web-1", "pvc-2a7c4d63-8d1f-4a1b-8e54-1b7d2d2a8c21", "5c1d0b2f-3e64-4d9f-82e8-6a9f0b4d7e31"} {
		v.Handle(tuitest.Key("g"))
		if !v.Choose(api.Subject{Kind: "volume", Name: name}) {
			t.Errorf("%s is not there", name)
		}
		if got, _ := v.Subject(); got != (api.Subject{Kind: "volume", VCenter: "us", Name: "default/data-web-1"}) {
			t.Errorf("%s: it is about %v", name, got)
		}
	}
	for _, s := range []api.Subject{{Kind: "volume", Name: "x"}, {Kind: "volume"}, {Kind: "node", Name: "default/data-web-1"}} {
		if v.Choose(s) {
			t.Errorf("%v is there", s)
		}
	}
}

func TestMouse(t *testing.T) {
	v := screen(tuitest.At(30*time.Second), 100, 27)
	if _, taken := v.Click(3, 3); !taken {
		t.Error("a click on the second row is not taken")
	}
	if got, _ := v.Subject(); got.Name != "default/data-web-1" {
		t.Errorf("it is about %v", got)
	}
	for _, y := range []int{0, 1, 26} {
		if _, taken := v.Click(3, y); taken {
			t.Errorf("a click on line %d is taken", y)
		}
	}
	v.Wheel(1)
	if got, _ := v.Subject(); got.Name != "default/data-web-2" {
		t.Errorf("after the wheel it is about %v", got)
	}
}

// The cursor stays with its claim from before it has a volume to the end.
func TestLives(t *testing.T) {
	s := tuitest.At(10*time.Second + 250*time.Millisecond)
	v := screen(s, 140, 42)
	want := api.Subject{Kind: "volume", Name: "default/data-web-0"}
	if !v.Choose(want) {
		t.Fatal("it is not there")
	}
	from := 10*time.Second + 250*time.Millisecond
	for at := from; at < 90*time.Second; at += 250 * time.Millisecond {
		tuitest.To(s, at, at+250*time.Millisecond)
		v.SetState(s)
		if got, _ := v.Subject(); got.Name != want.Name {
			t.Fatalf("at %s it is about %v", at, got)
		}
		_ = v.View()
	}
	if !has(v, "default/web-0") || !has(v, "● in-use") {
		t.Errorf("at the end:\n%s", ansi.Strip(v.View()))
	}
}

// What is called oddly elsewhere does nothing to the terminal.
func TestOddNames(t *testing.T) {
	const odd = "a\x1b[2J\nb\x07\u202ec"
	for _, state := range []api.VolumeState{odd, api.VolumePending, api.VolumeBlocked, api.VolumeLost} {
		s := fold.New(tuitest.About(), 0)
		s.Apply(tuitest.Began,
			api.Update{Volume: &api.Volume{
				Name: odd, Claim: "c/" + odd, Phase: odd, Driver: odd, Handle: odd, StorageClass: odd, VCenter: odd, Datastore: odd, VM: odd, Node: odd, Pods: []string{odd},
				State: state, Waits: odd, Try: odd,
			}},
			api.Update{Attachment: &api.Attachment{Name: odd, Volume: odd, Node: odd, Error: odd}},
			api.Update{VM: &api.VM{Name: odd, VCenter: odd, Power: odd, Disks: []api.Disk{{Volume: odd, File: odd}}}},
			api.Update{Node: &api.Node{Name: odd, Registered: true, Ready: odd}},
			api.Update{Synced: true},
		)
		for _, size := range sizes {
			v := screen(s, size[0], size[1])
			tuitest.Fills(t, v.View(), size[0], size[1])
			if view := v.View(); strings.Contains(view, "\x1b[2J") || strings.ContainsAny(view, "\x07\u202e") {
				t.Fatalf("%v: it is printed as it is: %q", size, view)
			}
			v.SetFilter(odd + "x")
			tuitest.Fills(t, v.View(), size[0], size[1])
		}
	}
}

// A volume in use is marked as long as it waits for something.
func TestWaitsInUse(t *testing.T) {
	v := screen(tuitest.At(26*time.Second), 100, 27)
	if !has(v, "◐ in-use") {
		t.Errorf("its node does not answer, and nothing shows it:\n%s", ansi.Strip(v.View()))
	}
	if v = screen(tuitest.At(60*time.Second), 100, 27); has(v, "◐ in-use") {
		t.Errorf("nothing waits, and one is marked:\n%s", ansi.Strip(v.View()))
	}
}

func BenchmarkFrame(b *testing.B) {
	s := tuitest.Big(1000)
	v := screen(s, 200, 57)
	v.SetTheme(theme.Dark())
	row := s.World().Rows(world.Volume)[10].Value.(api.Volume)
	for b.Loop() {
		row.Attached = !row.Attached
		s.Apply(s.Now().Add(10*time.Millisecond), api.Update{Volume: &row})
		v.SetState(s)
		_ = v.View()
	}
}
