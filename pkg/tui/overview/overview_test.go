package overview_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/overview"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

var _ interface {
	panel.Panel
	panel.Filterer
	panel.Selector
	panel.Chooser
	panel.Clicker
} = (*overview.Screen)(nil)

var sizes = [][2]int{{80, 21}, {100, 27}, {140, 42}, {200, 57}}

// screen shows a state at a size, without colors.
func screen(s *fold.State, width, height int) *overview.Screen {
	o := overview.New()
	o.SetTheme(theme.Mono())
	o.SetSize(width, height)
	o.SetState(s)
	return o
}

// press gives it keys, all of which it has to take.
func press(t *testing.T, o *overview.Screen, keys ...string) {
	t.Helper()
	for _, k := range keys {
		if what, taken := o.Handle(tuitest.Key(k)); !taken || what != nil {
			t.Fatalf("key %s: taken %t, %#v", k, taken, what)
		}
	}
}

// row is the line of a view that has a text.
func row(t *testing.T, o *overview.Screen, text string) string {
	t.Helper()
	for _, line := range strings.Split(ansi.Strip(o.View()), "\n")[2:] { // without title and header
		if strings.Contains(line, text) {
			return line
		}
	}
	t.Fatalf("no row has %q:\n%s", text, ansi.Strip(o.View()))
	return ""
}

func has(o *overview.Screen, text string) bool { return strings.Contains(ansi.Strip(o.View()), text) }

func TestFrames(t *testing.T) {
	for _, at := range []struct {
		name string
		at   time.Duration
	}{
		{"boot", 5 * time.Second},        // nodes without labels, not initialized
		{"off", 22 * time.Second},        // the VM is off, the node still Ready
		{"unknown", 30 * time.Second},    // the node is tainted
		{"retagged", 62 * time.Second},   // the tag says another zone than the label
		{"outage", 72*time.Second + 500}, // a vCenter is down
	} {
		for _, size := range sizes {
			name := fmt.Sprintf("%s-%dx%d", at.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				o := screen(tuitest.At(at.at), size[0], size[1])
				press(t, o, "n")
				tuitest.Fills(t, o.View(), size[0], size[1])
				tuitest.Golden(t, name, o.View())
			})
		}
	}
}

func TestThemes(t *testing.T) {
	for _, th := range []*theme.Theme{theme.Dark(), theme.Light(), theme.Mono()} {
		t.Run(th.Name, func(t *testing.T) {
			o := screen(tuitest.At(26*time.Second), 140, 42)
			press(t, o, "n")
			o.SetTheme(th)
			tuitest.Fills(t, o.View(), 140, 42)
			tuitest.Colored(t, "theme-"+th.Name, o.View())
		})
	}
}

func TestFillsAnyPlace(t *testing.T) {
	states := map[string]*fold.State{"story": tuitest.At(30 * time.Second), "empty": fold.New(tuitest.About(), 0), "big": tuitest.Big(300)}
	for name, s := range states {
		o := screen(s, 80, 21)
		for width := 20; width < 230; width += 7 {
			for _, height := range []int{5, 7, 8, 9, 21, 29, 30, 31, 60} {
				o.SetSize(width, height)
				t.Run(fmt.Sprintf("%s-%dx%d", name, width, height), func(t *testing.T) { tuitest.Fills(t, o.View(), width, height) })
			}
		}
	}
}

func TestEmpty(t *testing.T) {
	o := screen(fold.New(tuitest.About(), 0), 80, 21)
	tuitest.Golden(t, "empty-80x21", o.View())
	for _, b := range o.Bindings() {
		if b.Enabled() {
			t.Errorf("%s does nothing here, and is offered", b.Help().Key)
		}
	}
	if s, ok := o.Subject(); ok {
		t.Errorf("it is about %v", s)
	}
}

// The cursor stays with its VM while everything around it changes, and what changed is marked for a while.
func TestLives(t *testing.T) {
	s := tuitest.At(19 * time.Second)
	o := screen(s, 200, 57)
	about := api.Subject{Kind: "node", Name: "worker-west-1"}
	if !o.Choose(about) {
		t.Fatal("it is not there")
	}
	marks := map[time.Duration]string{
		21 * time.Second: "▎○ off", 26 * time.Second: "▎? Unknown", 48 * time.Second: "▎● Ready", 59 * time.Second: " ● Ready",
	}
	for at := 20 * time.Second; at <= 90*time.Second; at += 500 * time.Millisecond {
		tuitest.To(s, at-500*time.Millisecond, at)
		o.SetState(s)
		if got, ok := o.Subject(); !ok || got != about {
			t.Fatalf("at %s it is about %v", at, got)
		}
		if want, ok := marks[at]; ok && !strings.Contains(row(t, o, "worker-west-1"), want) {
			t.Errorf("at %s: no %q in %q", at, want, row(t, o, "worker-west-1"))
		}
	}
}

// What is called oddly elsewhere does nothing to the terminal.
func TestOddNames(t *testing.T) {
	const odd = "a\x1b[2J\nb\x07\u202ec"
	s := fold.New(tuitest.About(), 0)
	s.Apply(tuitest.Began,
		api.Update{VM: &api.VM{
			Name: odd, VCenter: odd, Datacenter: odd, Host: odd, Cluster: odd, Path: odd, Power: odd, Connection: odd, Process: odd, Role: odd, UUID: "1",
			Region: odd, Zone: odd, Hostname: odd, Addresses: []string{odd}, Disks: []api.Disk{{File: odd}},
		}},
		api.Update{Node: &api.Node{
			Name: odd, VM: odd, VCenter: odd, Datacenter: odd, Registered: true, Ready: odd, ProviderID: "x://" + odd, Taints: []string{odd}, Region: odd,
			Addresses: []string{odd}, Labels: map[string]string{"topology." + odd: odd}, InstanceType: odd, Version: odd,
		}},
		api.Update{Host: &api.Host{Name: odd, VCenter: odd, Datacenter: odd, Cluster: odd, Connection: odd, Power: odd}},
		api.Update{VCenter: &api.VCenter{Name: odd, Gate: odd, URL: odd, Version: odd}},
		api.Update{Volume: &api.Volume{Name: odd, Claim: odd, Node: odd, Attached: true, State: odd, Pods: []string{odd}}},
		api.Update{Synced: true},
	)
	for _, size := range sizes {
		o := screen(s, size[0], size[1])
		for range o.Bindings() {
			tuitest.Fills(t, o.View(), size[0], size[1])
			if view := o.View(); strings.Contains(view, "\x1b[2J") || strings.ContainsAny(view, "\x07\u202e") {
				t.Fatalf("%v: it is printed as it is: %q", size, view)
			}
			o.Handle(tuitest.Key("j"))
		}
		o.SetFilter(odd)
		tuitest.Fills(t, o.View(), size[0], size[1])
	}
}

func BenchmarkFrame(b *testing.B) {
	s := tuitest.Big(1000)
	o := screen(s, 200, 57)
	o.SetTheme(theme.Dark())
	vm := s.World().Rows("vm")[500].Value.(api.VM)
	for b.Loop() {
		vm.Tools = !vm.Tools
		s.Apply(s.Now().Add(10*time.Millisecond), api.Update{VM: &vm})
		o.SetState(s)
		_ = o.View()
	}
}

func BenchmarkFiltered(b *testing.B) {
	s := tuitest.Big(1000)
	o := screen(s, 200, 57)
	o.SetFilter("west unreachable")
	vm := s.World().Rows("vm")[500].Value.(api.VM)
	for b.Loop() {
		vm.Tools = !vm.Tools
		s.Apply(s.Now().Add(10*time.Millisecond), api.Update{VM: &vm})
		o.SetState(s)
		_ = o.View()
	}
}
