package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/internal/verbs"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// step runs a step. A never that continues during later steps has no verdict yet when it returns.
func (r *run) step(ctx context.Context, s *Step, index int) result.Step {
	res := result.Step{Index: index + 1, Line: s.Line, Action: string(s.Action), Text: s.textWith(r.options.Patience), Began: time.Now()}
	r.result.Steps = append(r.result.Steps, res)
	r.announce(result.Update{Change: result.StepBegan, Step: res})
	err := r.pause(ctx, s)
	if err == nil {
		s, err = r.bind(s)
	}
	if err == nil {
		res.Text, res.Began = s.textWith(r.options.Patience), time.Now()
		own := r.mark(ctx)
		if s.As != "" {
			r.marks[s.As] = own
		}
		err = r.act(ctx, s, own, &res)
	}
	switch {
	case ctx.Err() != nil && err != nil:
		res.Verdict, res.Message = result.Skipped, "interrupted"
	case lacking(err):
		res.Verdict, res.Message, r.lacks = result.Skipped, err.Error(), err.Error()
	case err != nil:
		res.Verdict, res.Message = result.Errored, err.Error()
	}
	return r.ended(index, res)
}

// lacking reports whether an error means that the ground does not support the request.
func lacking(err error) bool {
	var e *api.Error
	return errors.As(err, &e) && e.Code == "unsupported"
}

// ended records a step's result and reports it, unless the step continues.
func (r *run) ended(index int, res result.Step) result.Step {
	res.Took = time.Since(res.Began)
	r.result.Steps[index] = res
	if res.Verdict != result.Running {
		r.announce(result.Update{Change: result.StepEnded, Step: res})
	}
	return res
}

func (r *run) act(ctx context.Context, s *Step, own *expect.Mark, res *result.Step) error {
	switch s.Action {
	case ActionInject:
		return r.inject(ctx, s, own, res)
	case ActionHeal:
		return r.heal(ctx, s, own, res)
	case ActionWait, ActionExpect:
		return r.expect(ctx, s, own, res)
	case ActionNever:
		return r.never(ctx, s, own, res)
	case ActionRun:
		return r.command(ctx, s, res)
	case ActionSet:
		return r.set(ctx, s, res)
	}
	res.Verdict = result.Passed
	return nil
}

// pause waits until the step may begin.
func (r *run) pause(ctx context.Context, s *Step) error {
	wait := s.After.At(r.speed)
	if !s.At.IsZero() {
		wait = time.Until(r.began.Time.Add(s.At.At(r.speed)))
	}
	if wait <= 0 {
		return nil
	}
	return r.sleep(ctx, wait)
}

// sleep returns after that time, or early with the reason.
func (r *run) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-r.session.gone:
		return r.session.err
	}
}

// bind puts the values of set steps into the step.
func (r *run) bind(s *Step) (*Step, error) {
	reader := newReader(r.scenario.File)
	node := reader.Substitute(s.node, s.path, strict.Values{Known: written(r.values)})
	made := &Step{}
	reader.Decode(node, made, s.path)
	if made.Never != nil {
		made.Never.ForNever()
	}
	if err := reader.Err(); err != nil {
		return s, fmt.Errorf("with the values of set steps: %w", err)
	}
	if does := verbs.Beyond(made.Run); does != "" && verbs.Beyond(s.Run) == "" {
		return s, fmt.Errorf("with the values of set steps, it %s", does)
	}
	made.Action, made.Line, made.node, made.path, made.fault = s.Action, s.Line, s.node, s.path, s.fault
	return made, nil
}
