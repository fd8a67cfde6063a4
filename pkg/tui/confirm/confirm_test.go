package confirm_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/confirm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

func action() intent.Action {
	return intent.VM{VMRequest: api.VMRequest{Action: api.Destroy, VM: "worker-1"}}
}

func question(width, height int) *confirm.Question {
	q := confirm.New(action(), intent.Line(action(), "vsphere-sandbox", "lab"))
	q.SetSize(width, height)
	return q
}

func TestAnswers(t *testing.T) {
	for _, tc := range []struct {
		keys  []string
		want  intent.Intent
		taken bool
	}{
		{[]string{"enter"}, intent.Back{}, true},
		{[]string{"y"}, action(), true},
		{[]string{"Y"}, action(), true},
		{[]string{"n"}, intent.Back{}, true},
		{[]string{"esc"}, intent.Back{}, true},
		{[]string{"q"}, intent.Back{}, true},
		{[]string{"left", "enter"}, action(), true},
		{[]string{"tab", "enter"}, action(), true},
		{[]string{"h", "l", "enter"}, intent.Back{}, true},
		{[]string{"right", "shift+tab", "enter"}, intent.Back{}, true},
		{[]string{"p"}, nil, true}, // not for what is behind it
		{[]string{"space"}, nil, true},
		{[]string{"ctrl+c"}, nil, false},
	} {
		if got, taken := tuitest.Press(question(80, 21).Handle, tc.keys...); got != tc.want || taken != tc.taken {
			t.Errorf("%v: %v, %t", tc.keys, got, taken)
		}
	}
}

func TestFrames(t *testing.T) {
	for _, size := range [][2]int{{80, 21}, {100, 27}, {140, 42}, {200, 57}} {
		q := question(size[0], size[1])
		tuitest.Fills(t, q.View(), size[0], size[1])
		tuitest.Golden(t, fmt.Sprintf("%dx%d", size[0], size[1]), q.View())
	}
	for w := 1; w < 60; w++ {
		for _, h := range []int{1, 2, 3, 5, 9} {
			q := question(w, h)
			tuitest.Fills(t, q.View(), w, h)
			bw, bh := q.Size(w, h)
			if bw > w || bh > h {
				t.Errorf("%dx%d: it wants %dx%d", w, h, bw, bh)
			}
			if w >= 30 && h >= 3 && !strings.Contains(ansi.Strip(q.View()), "[n] No") {
				t.Errorf("%dx%d: nothing to answer", w, h)
			}
		}
	}
}

// In the place that it wants there is nothing but the box.
func TestSize(t *testing.T) {
	q := question(0, 0)
	w, h := q.Size(80, 21)
	q.SetSize(w, h)
	tuitest.Fills(t, q.View(), w, h)
	tuitest.Golden(t, "box", q.View())
	tuitest.Press(q.Handle, "left")
	tuitest.Golden(t, "box yes", q.View())
	for _, th := range []*theme.Theme{theme.Dark(), theme.Light()} {
		q.SetTheme(th)
		tuitest.Colored(t, th.Name, q.View())
	}
}

func TestMouse(t *testing.T) {
	q := question(80, 21)
	lines := strings.Split(ansi.Strip(q.View()), "\n")
	find := func(s string) (x, y int) {
		for y, l := range lines {
			if before, _, ok := strings.Cut(l, s); ok {
				return ansi.StringWidth(before), y
			}
		}
		t.Fatalf("no %s", s)
		return 0, 0
	}
	for s, want := range map[string]intent.Intent{"[y] Yes": action(), "[n] No": intent.Back{}, "Destroy": nil, "$ vsphere": nil} {
		x, y := find(s)
		q.Wheel(1)
		if got, taken := q.Click(x, y); got != want || !taken {
			t.Errorf("%s: %v", s, got)
		}
	}
	if got, _ := q.Click(0, 0); got != nil {
		t.Errorf("outside: %v", got)
	}
}

func TestBindings(t *testing.T) {
	for _, b := range question(80, 21).Bindings() {
		if !b.Enabled() || b.Help().Desc == "" {
			t.Errorf("%v", b)
		}
	}
}
