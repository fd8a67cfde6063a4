package scenario

import (
	"context"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
)

// needs are what a scenario asks for beside the world.
type needs struct {
	calls      bool
	metrics    []string
	logs       []string
	components map[string]bool
}

// needsOf looks through all statements.
func needsOf(s *Scenario) needs {
	n := needs{components: map[string]bool{}}
	add := func(list *[]string, kind, name string) {
		if !n.components[kind+name] {
			n.components[kind+name] = true
			*list = append(*list, name)
		}
	}
	for _, step := range s.Steps {
		x := step.Statement()
		if x == nil {
			continue
		}
		x.Walk(func(x *expect.Expectation) {
			switch {
			case x.Calls != nil:
				n.calls = true
			case x.Metric != nil:
				add(&n.metrics, "metric ", x.Metric.Component)
			case x.Log != nil:
				add(&n.logs, "log ", x.Log.Component)
			}
		})
	}
	return n
}

// polled tells whether there is anything that nobody tells and that has to be asked for.
func (n needs) polled() bool { return n.calls || len(n.metrics) > 0 }

// ask asks once. What does not answer stays as it was: a component that is down has no metrics to tell.
func (s *session) ask(ctx context.Context, n needs) {
	s.asking.Lock()
	defer s.asking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if n.calls {
		if calls, err := s.sandbox.Calls(ctx); err == nil {
			s.refresh(func(v *expect.View) { v.Calls = calls })
		}
	}
	for _, component := range n.metrics {
		if text, err := s.sandbox.Metrics(ctx, component); err == nil {
			samples := expect.ParseSamples(string(text))
			s.refresh(func(v *expect.View) { v.Samples[component] = samples })
		}
	}
}

// poll asks again and again until ctx ends.
func (s *session) poll(ctx context.Context, n needs) {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.ask(ctx, n)
		}
	}
}
