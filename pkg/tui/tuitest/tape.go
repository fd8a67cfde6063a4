package tuitest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
)

// tape is a story while it is being written.
type tape struct {
	at    time.Time
	lines []api.Recorded
	seq   uint64
	calls map[[3]string]api.Calls
}

// to continues at an offset in milliseconds.
func (t *tape) to(ms int) { t.at = Began.Add(time.Duration(ms) * time.Millisecond) }

func (t *tape) report(u api.Update) { t.lines = append(t.lines, api.Recorded{Time: t.at, Update: u}) }

func (t *tape) event(plane event.Plane, level event.Level, kind string, o event.Object, cause uint64, message string) uint64 {
	t.seq++
	t.report(api.Update{Event: &event.Event{
		Seq: t.seq, Time: t.at, Plane: plane, Level: level, Kind: kind, Object: o, Cause: cause, Message: message,
	}})
	return t.seq
}

func (t *tape) sandbox(level event.Level, kind string, o event.Object, cause uint64, message string) uint64 {
	return t.event(event.PlaneSandbox, level, kind, o, cause, message)
}

func (t *tape) vsphere(level event.Level, kind string, o event.Object, cause uint64, message string) uint64 {
	return t.event(event.PlaneVSphere, level, kind, o, cause, message)
}

func (t *tape) kube(level event.Level, kind string, o event.Object, cause uint64, message string) uint64 {
	return t.event(event.PlaneKubernetes, level, kind, o, cause, message)
}

// Rows that the story changes are copied: what was sent stays unchanged.

func (t *tape) vm(v *api.VM) {
	c := *v
	c.Addresses, c.Disks = slices.Clone(v.Addresses), slices.Clone(v.Disks)
	t.report(api.Update{VM: &c})
}

func (t *tape) node(n *api.Node) {
	c := *n
	c.Taints, c.Addresses = slices.Clone(n.Taints), slices.Clone(n.Addresses)
	t.report(api.Update{Node: &c})
}

func (t *tape) volume(v *api.Volume) {
	c := *v
	c.Pods = slices.Clone(v.Pods)
	t.report(api.Update{Volume: &c})
}

func (t *tape) attachment(a api.Attachment, deleted bool) {
	t.report(api.Update{Attachment: &a, Deleted: deleted})
}

func (t *tape) vcenter(v api.VCenter) { t.report(api.Update{VCenter: &v}) }

func (t *tape) component(c api.Component) {
	c.Since = t.at
	c.Log = "/state/zones-us-eu/logs/" + c.Name + ".log"
	t.report(api.Update{Component: &c})
}

func (t *tape) lease(l api.Lease) { t.report(api.Update{Lease: &l}) }

func (t *tape) run(r api.Run) {
	r.Steps = slices.Clone(r.Steps)
	t.report(api.Update{Run: &r})
}

// called counts calls of a client; each took that long.
func (t *tape) called(vcenter, client, method string, n uint64, took time.Duration) {
	t.calledBadly(vcenter, client, method, n, took, 0, "")
}

func (t *tape) calledBadly(vcenter, client, method string, n uint64, took time.Duration, errors uint64, last string) {
	key := [3]string{vcenter, client, method}
	c := t.calls[key]
	c.VCenter, c.Client, c.Method = vcenter, client, method
	c.Calls += n
	c.Errors += errors
	c.Hits += errors // who errs here errs because of a fault
	c.Latency += api.Duration(time.Duration(n) * took)
	c.Last = t.at
	if last != "" {
		c.LastError = last
	}
	t.calls[key] = c
	t.report(api.Update{Calls: &c})
}

// At is the state of the story so long after it has begun.
func At(d time.Duration) *fold.State {
	s := fold.New(About(), 0)
	To(s, 0, d)
	return s
}

// To applies the lines of the story after from and up to to: Began+from < time <= Began+to. From 0 also applies those of the
// beginning.
func To(s *fold.State, from, to time.Duration) {
	for _, line := range Story() {
		at := line.Time.Sub(Began)
		if at <= to && (at > from || from <= 0) {
			s.Apply(line.Time, line.Update)
		}
	}
	s.Tick(Began.Add(to))
}

// Key makes a key as a terminal sends it from its name, which is what its String is: "j", "G", "/", "space", "enter",
// "shift+tab", "ctrl+u". It panics at a name that no key has.
func Key(name string) tea.KeyPressMsg {
	var k tea.KeyPressMsg
	rest := name
	for {
		mod, after, found := strings.Cut(rest, "+")
		if !found || after == "" || mods[mod] == 0 {
			break
		}
		k.Mod, rest = k.Mod|mods[mod], after
	}
	switch code, special := codes[rest]; {
	case special:
		if k.Code = code; code == tea.KeySpace && k.Mod == 0 {
			k.Text = " "
		}
	case utf8.RuneCountInString(rest) == 1:
		if k.Code, _ = utf8.DecodeRuneInString(rest); k.Mod == 0 {
			k.Text = rest
			if lower := []rune(strings.ToLower(rest))[0]; lower != k.Code {
				k.Code, k.ShiftedCode, k.Mod = lower, k.Code, tea.ModShift
			}
		}
	}
	if k.String() != name {
		panic(fmt.Sprintf("tuitest: unknown key %q", name))
	}
	return k
}

// Keys makes several, see [Key].
func Keys(names ...string) []tea.KeyPressMsg {
	keys := make([]tea.KeyPressMsg, len(names))
	for i, name := range names {
		keys[i] = Key(name)
	}
	return keys
}

// Type makes the keys that write a text.
func Type(text string) []tea.KeyPressMsg {
	var keys []tea.KeyPressMsg
	for _, r := range text {
		if r == ' ' {
			keys = append(keys, Key("space"))
		} else {
			keys = append(keys, Key(string(r)))
		}
	}
	return keys
}

// Press gives a handler of keys (the Handle of a panel) the keys of those names, and returns the last answer.
func Press[T any](handle func(tea.KeyPressMsg) (T, bool), names ...string) (answer T, taken bool) {
	for _, k := range Keys(names...) {
		answer, taken = handle(k)
	}
	return answer, taken
}

var mods = map[string]tea.KeyMod{"ctrl": tea.ModCtrl, "alt": tea.ModAlt, "shift": tea.ModShift}

var codes = map[string]rune{
	"enter": tea.KeyEnter, "tab": tea.KeyTab, "backspace": tea.KeyBackspace, "esc": tea.KeyEscape, "space": tea.KeySpace,
	"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "home": tea.KeyHome, "end": tea.KeyEnd,
	"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "delete": tea.KeyDelete, "insert": tea.KeyInsert,
	"f1": tea.KeyF1, "f2": tea.KeyF2, "f3": tea.KeyF3, "f4": tea.KeyF4, "f5": tea.KeyF5,
}

// The flag is that of x/exp/golden, where a test links that, too: teatest does.
var _ = flag.Lookup("update") != nil || flag.Bool("update", false, "rewrite golden files") != nil

func update() bool { return flag.Lookup("update").Value.String() == "true" }

// Golden compares a view, without colors, with testdata/<name>.golden of the package under test. Spaces at the ends of
// lines are not compared: that a view fills its place is for [Fills].
func Golden(t *testing.T, name, view string) {
	t.Helper()
	golden(t, name, ansi.Strip(view))
}

// Colored compares a view with its escape sequences, in which ESC is written ␛, so that a reviewer sees them.
func Colored(t *testing.T, name, view string) {
	t.Helper()
	golden(t, name, strings.ReplaceAll(view, "\x1b", "␛"))
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	lines := strings.Split(strings.TrimRight(got, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	got = strings.Join(lines, "\n") + "\n"
	path := filepath.Join("testdata", name+".golden")
	if update() {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (-update writes it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update accepts it):\n%s", path, diff)
	}
}

// Fills checks that a view has exactly height lines of exactly width cells.
func Fills(t *testing.T, view string, width, height int) {
	t.Helper()
	lines := strings.Split(view, "\n")
	if len(lines) != height {
		t.Errorf("%dx%d: it has %d lines", width, height, len(lines))
	}
	for i, line := range lines {
		if n := ansi.StringWidth(line); n != width {
			t.Errorf("%dx%d: line %d has %d cells: %q", width, height, i+1, n, ansi.Strip(line))
		}
	}
}
