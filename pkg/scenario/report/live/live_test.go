package live

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/golden"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/sample"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// play sends a run to l as a runner would.
func play(l *Live, s *result.Suite) {
	for i, sc := range s.Scenarios {
		steps := sc.Steps
		began := sc
		began.Steps, began.Verdict = nil, result.Running
		u := result.Update{Change: result.ScenarioBegan, Scenario: began, Number: i + 1, Of: len(s.Scenarios), Steps: len(steps)}
		l.Update(u)
		for _, st := range steps {
			u.Step = st
			if st.Verdict != result.Skipped {
				u.Change = result.StepBegan
				l.Update(u)
			}
			u.Change = result.StepEnded
			l.Update(u)
		}
		u.Change, u.Scenario = result.ScenarioEnded, sc
		l.Update(u)
	}
}

func TestRun(t *testing.T) {
	var b bytes.Buffer
	l := New(&b, false)
	play(l, sample.Suite())
	l.Close()
	l.Close()
	l.Println("too late")
	golden.Equal(t, "run.txt", b.String())
}

func TestTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		l := New(&b, true)
		l.Println("begin")
		l.Update(result.Update{Change: result.StepBegan, Step: result.Step{Action: "expect", Text: strings.Repeat("long ", 20)}})
		time.Sleep(1500 * time.Millisecond)
		l.Update(result.Update{Change: result.StepEnded, Step: result.Step{Action: "expect", Text: "x", Verdict: result.Passed, Took: 1500 * time.Millisecond}})
		l.Close()
		long := "  … expect " + strings.Repeat("long ", 20)
		want := "begin\n" + string([]rune(long)[:77]) + "…" + "\r\x1b[K" + string([]rune(long)[:72]) + "… (1s)" + "\r\x1b[K" +
			"  ✓ expect x" + strings.Repeat(" ", 56) + "  1.50 s\n"
		if d := cmp.Diff(want, b.String()); d != "" {
			t.Error(d)
		}
	})
}

// Nothing is silent for five seconds.
func TestNeverSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &gaps{last: time.Now()}
		l := New(w, false)
		l.Busy("sandbox: boots")
		time.Sleep(17 * time.Second)
		l.Busy("")
		l.Update(result.Update{Change: result.ScenarioBegan, Number: 1, Of: 1, Scenario: result.Scenario{Name: "a"}})
		st := result.Step{Action: "never", Text: "node x is deleted for 20s"}
		l.Update(result.Update{Change: result.StepBegan, Step: st})
		time.Sleep(7 * time.Second)
		l.Update(result.Update{Change: result.Waiting, Step: st, Text: "13 s more"})
		time.Sleep(13 * time.Second)
		l.Close()
		if w.longest > 5*time.Second {
			t.Errorf("silent for %s:\n%s", w.longest, w.String())
		}
		if !strings.Contains(w.String(), "  … never node x is deleted for 20s: 13 s more (") {
			t.Errorf("got:\n%s", w.String())
		}
	})
}

// gaps is a writer that knows how long nothing was written.
type gaps struct {
	bytes.Buffer
	last    time.Time
	longest time.Duration
}

func (g *gaps) Write(b []byte) (int, error) {
	g.longest = max(g.longest, time.Since(g.last))
	g.last = time.Now()
	return g.Buffer.Write(b)
}

func TestSummary(t *testing.T) {
	var b bytes.Buffer
	if err := Summary(&b, sample.Suite()); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "summary.txt", b.String())
}
