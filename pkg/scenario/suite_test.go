package scenario_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// scenarios makes some with different needs.
func several(t *testing.T) []*scenario.Scenario {
	t.Helper()
	var list []*scenario.Scenario
	for name, rest := range map[string]string{
		"a": "topology: single\ncomponents: {speed: 20}", "b": "topology: single", "c": "topology: zones-us-eu", "d": "topology: single\ncomponents: {ccm: {replicas: 1}}",
	} {
		s, err := scenario.Load(name+".yaml", []byte(top+"metadata: {name: "+name+"}\n"+rest+"\nsteps: [{inject: vcenter.down, on: {vcenter: \"*\"}, mode: all}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

func TestRunAll(t *testing.T) {
	for _, tc := range []struct {
		name         string
		leave        bool // each scenario leaves something
		fail         bool // no sandbox comes up
		boots, stops int
		verdict      result.Verdict
	}{
		{"shared", false, false, 3, 3, result.Passed},
		{"left", true, false, 4, 4, result.Passed},
		{"no sandbox", false, true, 4, 0, result.Errored},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				boots, stops, ended := 0, 0, 0
				boot := func(context.Context, scenario.Requirements) (*scenario.Running, error) {
					if boots++; tc.fail {
						return nil, errors.New("no room")
					}
					f := newFake()
					if tc.leave {
						f.onInject = func(f *fake, _ api.InjectRequest, _ uint64) { f.put(node("worker-3", "True")) }
					}
					return &scenario.Running{Sandbox: f, Name: fmt.Sprint("s", boots), Stop: func(context.Context) error { stops++; return nil }}, nil
				}
				suite := scenario.RunAll(t.Context(), several(t), boot, scenario.Options{}, func(*scenario.Scenario, scenario.Outcome) { ended++ })
				got := []any{boots, stops, ended, len(suite.Scenarios), len(suite.Boots), suite.Verdict()}
				if diff := cmp.Diff([]any{tc.boots, tc.stops, 4, 4, tc.boots, tc.verdict}, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// publishing is a sandbox that accepts the progress of scenarios.
type publishing struct {
	*fake
	mu   sync.Mutex
	runs []api.Run
	at   []time.Time
	// publish, when not nil, answers.
	publish func(context.Context) error
}

func (p *publishing) Publish(ctx context.Context, r api.Run) error {
	p.mu.Lock()
	p.runs, p.at = append(p.runs, r), append(p.at, time.Now())
	p.mu.Unlock()
	if p.publish != nil {
		return p.publish(ctx)
	}
	return nil
}

// states are those of a run's steps, a word each.
func states(r api.Run) string {
	words := []string{r.State + ":"}
	for _, s := range r.Steps {
		words = append(words, s.State)
	}
	return strings.Join(words, " ")
}

const published = `
- never: {event: {kind: node.deleted}}
  until: end
- {inject: vcenter.down, on: {vcenter: vc}}
- expect: {node: worker-1, ready: Unknown}
  within: 4s
- note: goes on
`

func TestPublish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &publishing{fake: newFake()}
		p.onInject, p.onHeal = powerOff, powerOn
		out := scenario.Run(t.Context(), parse(t, published), &scenario.Running{Sandbox: p}, scenario.Options{Number: 2, Of: 3})
		time.Sleep(time.Minute) // what the fake has begun ends
		p.mu.Lock()
		defer p.mu.Unlock()
		var got []string
		for _, r := range p.runs {
			got = append(got, states(r))
		}
		got = slices.Compact(got)
		if first := p.runs[0]; len(first.Steps) != 4 || first.Steps[3].State != "pending" || first.Steps[3].Text == "" {
			t.Errorf("first %+v, want every step", first)
		}
		if !slices.Contains(got, "running: running passed running pending") {
			t.Errorf("never reported that it waits:\n%s", strings.Join(got, "\n"))
		}
		if last := "failed: passed passed failed passed"; got[len(got)-1] != last {
			t.Errorf("last %q, want %q", got[len(got)-1], last)
		}
		last := p.runs[len(p.runs)-1]
		if last.Ended == nil || !last.Ended.Equal(out.Began.Add(out.Took)) || last.Message != out.Message || last.Number != 2 || last.Of != 3 || last.Name != "test" {
			t.Errorf("reported at last %+v", last)
		}
		var texts []string
		for i, s := range last.Steps {
			if texts = append(texts, s.Text); s.Took != api.Duration(out.Steps[i].Took) || s.Event != out.Steps[i].Event || !s.Began.Equal(out.Steps[i].Began) {
				t.Errorf("step %d is reported as %+v, was %+v", i+1, s, out.Steps[i])
			}
		}
		want := []string{"never event node.deleted until end", "inject vcenter.down on vcenter vc", "expect node worker-1: ready Unknown within 4s", "note goes on"}
		if d := cmp.Diff(want, texts); d != "" {
			t.Errorf("texts (-want +got):\n%s", d)
		}
		waited := ""
		for _, r := range p.runs {
			if r.Steps[2].State == "running" && r.Steps[2].Message != "" {
				waited = r.Steps[2].Message
			}
		}
		if waited != "node worker-1: ready is True" {
			t.Errorf("waited for %q", waited)
		}
	})
}

// TestPublishIsBounded: what a step waits for is sent a few times a second, however often it changes.
func TestPublishIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &publishing{fake: newFake()}
		stop := make(chan struct{})
		go func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(10 * time.Millisecond):
					p.put(node("worker-1", "True", fmt.Sprint("taint-", i)))
				}
			}
		}()
		out := scenario.Run(t.Context(), parse(t, "- {expect: {node: worker-1, taints: [x]}, within: 10s}\n"), p, scenario.Options{})
		close(stop)
		synctest.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		if n := len(p.runs); out.Verdict != result.Failed || n < 30 || n > 50 {
			t.Errorf("%s, reported %d times in 10 s", out.Verdict, n)
		}
	})
}

// A sandbox that does not listen slows nothing, and fails nothing.
func TestPublishToTheDeaf(t *testing.T) {
	for name, publish := range map[string]func(context.Context) error{
		"refuses": func(context.Context) error { return errors.New("no") },
		"hangs":   func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				steps, began := parse(t, "- note: one\n- note: two\n"), time.Now()
				scenario.Run(t.Context(), steps, newFake(), scenario.Options{})
				usual := time.Since(began)
				p := &publishing{fake: newFake(), publish: publish}
				began = time.Now()
				out := scenario.Run(t.Context(), steps, p, scenario.Options{})
				if took := time.Since(began) - usual; out.Verdict != result.Passed || took > time.Second || len(p.runs) == 0 {
					t.Errorf("%s, %s later, reported %d times", out.Verdict, took, len(p.runs))
				}
			})
		})
	}
}
