package smoke

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// check is a check in code, reported like a scenario.
type check struct {
	s           result.Scenario
	observe     func(result.Update)
	number, of  int
	steps, done int
}

// begin reports the start of a check with so many steps.
func (r *run) begin(name, description string, steps int) *check {
	r.number++
	c := &check{observe: r.o.Observe, number: r.number, of: r.of, steps: steps, s: result.Scenario{
		Name: name, Theme: theme, Description: description, Began: time.Now(), Seed: r.o.Seed, Speed: r.o.Speed,
		CCM: r.side.program.Source, CCMVersion: r.side.program.Version,
	}}
	c.notify(result.ScenarioBegan, result.Step{})
	return c
}

func (c *check) notify(change result.Change, step result.Step) {
	u := result.Update{Change: change, Scenario: c.s, Step: step, Number: c.number, Of: c.of, Steps: c.steps}
	if change != result.ScenarioEnded {
		u.Scenario.Steps = nil
	}
	c.observe(u)
}

// errNot is the error of a step whose check failed.
type errNot struct{ what string }

func (e errNot) Error() string { return e.what }

// errSkip is the error of a step without anything to check.
type errSkip struct{ why string }

func (e errSkip) Error() string { return e.why }

// step runs one step, which returns what it found.
func (c *check) step(ctx context.Context, action, text string, do func(context.Context) (found string, err error)) {
	c.done++
	step := result.Step{Index: c.done, Action: action, Text: text, Began: time.Now()}
	c.notify(result.StepBegan, step)
	found, err := "", ctx.Err()
	if err == nil {
		found, err = do(ctx)
	}
	step.Took = time.Since(step.Began)
	step.Verdict, step.Message = result.Passed, found
	var not errNot
	var skip errSkip
	switch {
	case errors.As(err, &skip):
		step.Verdict, step.Message = result.Skipped, err.Error()
	case errors.As(err, &not):
		step.Verdict, step.Message = result.Failed, err.Error()
	case ctx.Err() != nil:
		step.Verdict, step.Message = result.Interrupted, "interrupted"
	case err != nil:
		step.Verdict, step.Message = result.Errored, err.Error()
	}
	c.s.Steps = append(c.s.Steps, step)
	c.notify(result.StepEnded, step)
}

// end sets the verdict: the worst of the steps. The message is that of the deciding step, or else of the last.
func (c *check) end() result.Scenario {
	var all []result.Verdict
	for _, st := range c.s.Steps {
		all = append(all, st.Verdict)
	}
	c.s.Verdict = result.Worst(all...)
	for _, st := range c.s.Steps {
		if st.Verdict == c.s.Verdict {
			c.s.Message = st.Message
			if c.s.Verdict != result.Passed {
				break
			}
		}
	}
	c.s.Took = time.Since(c.s.Began)
	c.notify(result.ScenarioEnded, result.Step{})
	return c.s
}

const (
	exitCheck = "clean-exit"
	// exitGrace is the time limit for the exit: the rest of a pod's thirty seconds when it has many containers.
	exitGrace = 10 * time.Second
	// logoutGrace is the time until a vCenter drops sessions.
	logoutGrace = 2 * time.Second
	// againGrace is the time limit for its replacement to run.
	againGrace = time.Minute
)

// checkExit ends the program as a kubelet does, and checks its exit status, and whether its sessions at the
// vCenters have ended. The sandbox starts a replacement.
func (r *run) checkExit(ctx context.Context, sandbox *scenario.Running) result.Scenario {
	c := r.begin(exitCheck, "asked to end (SIGTERM), it ends in order, and its sessions at the vCenters with it", 4)
	c.s.Sandbox = sandbox.Name
	var before []session
	c.step(ctx, "note", "the sessions that it has", func(ctx context.Context) (string, error) {
		status, err := sandbox.Status(ctx)
		if err != nil {
			return "", err
		}
		if before, err = r.kind.sessionsOf(ctx, sandbox); err != nil {
			return "", err
		}
		// Sessions of one that a scenario killed do not count.
		before = slices.DeleteFunc(before, func(s session) bool { return s.since.Before(r.kind.startOf(status)) })
		return fmt.Sprintf("%d", len(before)), nil
	})
	var message string
	c.step(ctx, "expect", fmt.Sprintf("it ends with exit status 0 within %s of SIGTERM", exitGrace), func(ctx context.Context) (string, error) {
		var err error
		message, err = r.terminated(ctx, sandbox)
		return message, err
	})
	c.step(ctx, "expect", "its sessions at the vCenters are over", func(ctx context.Context) (string, error) {
		return r.loggedOut(ctx, sandbox, before)
	})
	c.step(ctx, "expect", "another one that is healthy in its place", func(ctx context.Context) (string, error) {
		return "", r.healthyAgain(ctx, sandbox)
	})
	s := c.end()
	switch s.Verdict {
	case result.Failed: // both of what can be wrong belong together
		var parts []string
		for _, st := range s.Steps {
			if st.Verdict == result.Failed {
				parts = append(parts, st.Message)
			}
		}
		s.Message = strings.Join(parts, "; ")
	case result.Passed:
		s.Message = fmt.Sprintf("%s, %d sessions are over", message, len(before))
	}
	return s
}

// running returns the processes of what is judged.
func (k *kind) running(status api.Status) []api.Component {
	var list []api.Component
	for _, c := range status.Components {
		if slices.Contains(k.components, c.Name) {
			list = append(list, c)
		}
	}
	return list
}

// healthy reports whether the first of them is healthy, and the others run: a syncer is not asked.
func (k *kind) healthy(status api.Status) bool {
	list := k.running(status)
	return len(list) > 0 && !slices.ContainsFunc(list, func(c api.Component) bool {
		return c.State != "running" || c.Health != "healthy" && (c.Health != "" || c.Name == k.components[0])
	})
}

// startOf returns when the first of them was started. If one was started again it is when the last was: sessions do not say whose they
// are, and those of the one before it may be left.
func (k *kind) startOf(status api.Status) time.Time {
	var first, last time.Time
	again := false
	for _, c := range k.running(status) {
		if first.IsZero() || c.Since.Before(first) {
			first = c.Since
		}
		if c.Since.After(last) {
			last = c.Since
		}
		again = again || c.Restarts > 0
	}
	if again {
		return last
	}
	return first
}

// terminated sends SIGTERM to each process and returns how they ended.
func (r *run) terminated(ctx context.Context, sandbox *scenario.Running) (string, error) {
	status, err := sandbox.Status(ctx)
	if err != nil {
		return "", err
	}
	waiting := map[string]bool{} // by name
	for _, c := range r.kind.running(status) {
		if c.PID == 0 {
			return "", errNot{c.Name + " does not run"}
		}
		waiting[c.Name] = true
	}
	if !waiting[r.kind.components[0]] {
		return "", errNot{"the " + r.kind.noun + " does not run"}
	}
	for _, c := range r.kind.running(status) {
		if err := r.o.terminate(c.PID); err != nil {
			return "", err
		}
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, r.patient(exitGrace))
	defer cancel()
	var wrong []string
	errEnough := errors.New("enough")
	err = sandbox.Watch(ctx, status.LastEvent, func(u api.Update) error {
		if e := u.Event; e != nil && waiting[e.Object.Name] && e.Kind == "child.exited" {
			delete(waiting, e.Object.Name)
			text := strings.TrimPrefix(e.Message, e.Object.Name+": ")
			if text != "exited" && !strings.HasPrefix(text, "exited: ") { // and its last words
				wrong = append(wrong, text)
			}
		}
		if len(waiting) == 0 {
			return errEnough
		}
		return nil
	})
	switch {
	case len(wrong) > 0:
		return "", errNot{strings.Join(wrong, "; ")}
	case len(waiting) == 0:
		return fmt.Sprintf("exit status 0 after %s", time.Since(began).Round(10*time.Millisecond)), nil
	case ctx.Err() != nil:
		return "", errNot{fmt.Sprintf("%s runs on %s after SIGTERM", strings.Join(slices.Sorted(maps.Keys(waiting)), ", "), r.patient(exitGrace))}
	case err == nil:
		err = errors.New("the sandbox has ended")
	}
	return "", err
}

// loggedOut waits until the sessions have ended.
func (r *run) loggedOut(ctx context.Context, sandbox *scenario.Running, before []session) (string, error) {
	for deadline := time.Now().Add(r.patient(logoutGrace)); ; {
		now, err := r.kind.sessionsOf(ctx, sandbox)
		if err != nil {
			return "", err
		}
		left := leftOf(before, now)
		if len(left) == 0 {
			return "", nil
		}
		if time.Now().After(deadline) {
			return "", errNot{fmt.Sprintf("%d of %d sessions are still there (%s at %s)", len(left), len(before), left[0].agent, left[0].vcenter)}
		}
		if backoff.Sleep(ctx, 200*time.Millisecond) != nil {
			return "", ctx.Err()
		}
	}
}

// healthyAgain waits for the replacement.
func (r *run) healthyAgain(ctx context.Context, sandbox *scenario.Running) error {
	for deadline := time.Now().Add(r.patient(againGrace)); ; {
		status, err := sandbox.Status(ctx)
		if err != nil {
			return err
		}
		if r.kind.healthy(status) {
			return nil
		}
		if time.Now().After(deadline) {
			return errNot{"no other one has become healthy"}
		}
		if backoff.Sleep(ctx, 200*time.Millisecond) != nil {
			return ctx.Err()
		}
	}
}

func (r *run) patient(d time.Duration) time.Duration {
	return time.Duration(float64(d) * r.o.Patience)
}
