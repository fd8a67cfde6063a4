package scenario

import (
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

func TestCurrent(t *testing.T) {
	for _, tt := range []struct {
		run, steps string
		want       int
	}{
		{running, "", 0},
		{running, "pending pending", 0},
		{running, "passed running pending", 1},
		{running, "running passed running pending", 2}, // the first is watched all along
		{running, "running passed passed pending", 0},
		{running, "passed passed pending", 1},
		{passed, "passed passed passed", 2},
		{failed, "passed failed skipped", 1},
		{errored, "passed error skipped", 1},
		{failed, "passed failed passed error", 1},
		{skipped, "skipped skipped", 1},
	} {
		r := &api.Run{State: tt.run}
		for state := range strings.FieldsSeq(tt.steps) {
			r.Steps = append(r.Steps, api.RunStep{State: state})
		}
		if got := current(r); got != tt.want {
			t.Errorf("%s: %s: %d, want %d", tt.run, tt.steps, got, tt.want)
		}
	}
}

func TestTook(t *testing.T) {
	began := tuitest.Began
	now := began.Add(12*time.Second + 300*time.Millisecond)
	for _, tt := range []struct {
		step api.RunStep
		want string
	}{
		{api.RunStep{State: pending}, ""},
		{api.RunStep{State: running}, ""},
		{api.RunStep{State: running, Began: &began}, "12s"},
		{api.RunStep{State: passed, Took: api.Duration(1500 * time.Millisecond)}, "1.5s"},
		{api.RunStep{State: passed}, "0"},
		{api.RunStep{State: failed, Took: api.Duration(61 * time.Second)}, "1m01s"},
		{api.RunStep{State: skipped}, ""},
	} {
		if got := took(&tt.step, now); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.step, got, tt.want)
		}
	}
}

func TestMark(t *testing.T) {
	for state, want := range map[string]string{
		pending: "· pending", running: "◐ running", passed: "✓ passed", failed: "✗ failed", errored: "✗ error", skipped: "○ skipped",
		"odd\x00": `? odd\x00`,
	} {
		if got := mark(state); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		_ = style(theme.Mono(), state)
	}
}

func TestBlocks(t *testing.T) {
	long := strings.Repeat("it has the wrong taint ", 20)
	r := &api.Run{Steps: []api.RunStep{
		{Text: "expect a", State: passed},
		{Text: "expect b", State: running, Message: long},
		{Text: "expect c", State: failed, Message: long},
		{Text: strings.Repeat("expect d ", 10), State: pending},
	}}
	b := blocks(r, fit(80, 4), "")
	if len(b) != 4 || b[0].height() != 1 {
		t.Errorf("blocks: %+v", b)
	}
	if m := b[1].message; len(m) != 2 || !strings.HasPrefix(m[0], "waits: ") || !strings.HasSuffix(m[1], "…") {
		t.Errorf("what is waited for: %q", m)
	}
	if got := strings.Join(b[2].message, " "); strings.Join(strings.Fields(got), " ") != strings.TrimSpace(long) {
		t.Errorf("the reason of the failure is not complete: %q", got)
	}
	if len(b[3].text) < 2 {
		t.Errorf("a long text is not broken: %q", b[3].text)
	}
	if got := blocks(r, fit(80, 4), "WRONG failed"); len(got) != 1 || got[0].step != 2 {
		t.Errorf("filtered: %+v", got)
	}
	if got := blocks(nil, fit(80, 0), ""); got != nil {
		t.Errorf("of no run: %+v", got)
	}
}

func TestFit(t *testing.T) {
	for width := 1; width < 200; width++ {
		c := fit(width, 123)
		if sum := c.number + c.state + c.text + c.took + c.event + 2; sum != width && c.text != 1 {
			t.Errorf("%d: %+v is %d", width, c, sum)
		}
	}
}
