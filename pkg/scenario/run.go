package scenario

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// run is the state of running one scenario.
type run struct {
	scenario *Scenario
	options  Options
	session  *session
	needs    needs
	logs     *logs
	// publisher is nil if the sandbox is not a Publisher.
	publisher *publisher
	speed     float64
	baseline  world.Snapshot

	result result.Scenario
	// values are the results of set steps.
	values map[string]string
	// marks are the named steps so far; began is the beginning of the run.
	marks map[string]*expect.Mark
	began *expect.Mark
	// killed is the last injection of a fault of processes, nil before one.
	killed *expect.Mark
	// leases are the faults injected so far, named those of named steps.
	leases []string
	named  map[string]string
	// nevers are those that still run during later steps.
	nevers []*guard
	// lacks is what a step needs and the ground of the sandbox does not support: the rest is skipped.
	lacks string
	// acted is the time of the last action on the sandbox, and its event.
	acted   time.Time
	actedBy uint64
	// before are the leases at the beginning, callsBefore the calls until then.
	before      map[string]bool
	callsBefore []api.Calls
}

// Run runs a scenario on a sandbox, restores what it broke, and returns the result. After the end of ctx it skips the remaining
// steps and heals its faults within [GraceTime], without waiting for the effects; it leaves a disposable sandbox as it is. Run
// one scenario at a time on a sandbox.
func Run(ctx context.Context, s *Scenario, sandbox Sandbox, options Options) Outcome {
	options = options.withDefaults()
	r := &run{
		scenario: s, options: options, needs: needsOf(s), speed: 1,
		values: maps.Clone(s.Values), marks: map[string]*expect.Mark{}, named: map[string]string{}, before: map[string]bool{},
	}
	r.result = result.Scenario{
		Name: s.Metadata.Name, Theme: s.Theme, File: s.File, Description: s.Metadata.Description, Reported: s.Reported,
		Began: time.Now(), Seed: options.Seed, Sandbox: options.Name, CCM: options.CCM, CCMVersion: options.CCMVersion, Parameters: s.Values,
	}
	r.publisher = publish(ctx, sandbox)
	defer r.publisher.close()
	r.announce(result.Update{Change: result.ScenarioBegan})
	out := Outcome{}
	if err := r.open(ctx, sandbox); err != nil {
		r.skipRest(0)
		r.result.Verdict, r.result.Message = result.Errored, err.Error()
	} else {
		out.Left = r.carryOut(ctx)
	}
	r.result.Took = time.Since(r.result.Began)
	out.Scenario = r.result
	out.Timeline = Timeline(&r.result)
	r.announce(result.Update{Change: result.ScenarioEnded})
	return out
}

// open starts to follow the sandbox.
func (r *run) open(ctx context.Context, sandbox Sandbox) error {
	status, err := sandbox.Status(ctx)
	if err != nil {
		return err
	}
	if status.Phase != api.Ready {
		return fmt.Errorf("the sandbox is not ready: it is %s", status.Phase)
	}
	if r.speed = status.Speed; r.speed <= 0 {
		r.speed = 1
	}
	r.result.Speed = r.speed
	r.session, err = follow(ctx, sandbox, status.LastEvent)
	return err
}

// carryOut runs the steps and restores the sandbox. It returns what it could not restore.
func (r *run) carryOut(ctx context.Context) (left []string) {
	defer r.session.close()
	r.wellFirst(ctx)
	if busy := r.takeStock(); busy != "" {
		r.skipRest(0)
		r.result.Verdict, r.result.Message = result.Errored, "the sandbox has faults of another client: "+busy
		return []string{busy}
	}
	asking, stop := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	defer background.Wait()
	defer stop()
	if len(r.needs.logs) > 0 {
		r.logs = newLogs(r.session, r.needs.logs)
		background.Go(func() {
			if err := r.logs.follow(asking); err != nil {
				r.session.fail(fmt.Errorf("logs cannot be followed: %w", err))
				for { // a waiter for lines notices the end elsewhere
					select {
					case done := <-r.logs.asked:
						close(done)
					case <-asking.Done():
						return
					}
				}
			}
		})
	}
	if r.needs.polled() {
		background.Go(func() { r.session.poll(asking, r.needs) })
	}
	r.callsBefore = r.session.callsNow(ctx)
	r.began = r.mark(ctx)
	r.acted = r.began.Time
	r.steps(ctx)
	r.judge(ctx)
	r.keep(ctx)
	left = r.restore(ctx)
	r.session.with(func(v *expect.View) {
		r.result.Events = slices.Clone(v.World.After(r.began.Seq))
		r.result.Lost = v.World.Lost()
	})
	return left
}

// wellFirst waits a short time for a new sandbox to become ready. A sandbox that is unready for another reason is used as it is.
func (r *run) wellFirst(ctx context.Context) {
	changed, done := r.session.listen()
	defer done()
	over := time.NewTimer(wellTime)
	defer over.Stop()
	for {
		well := false
		r.session.with(func(v *expect.View) { well = v.World.Healthy() })
		if well {
			return
		}
		select {
		case <-changed:
		case <-over.C:
			return
		case <-ctx.Done():
			return
		case <-r.session.gone:
			return
		}
	}
}

// takeStock remembers the state before the scenario, and returns the faults that another client has injected.
func (r *run) takeStock() (busy string) {
	r.session.with(func(v *expect.View) {
		r.baseline = v.World.Snapshot()
		for _, lease := range world.Values[api.Lease](v.World, world.Lease) {
			r.before[lease.ID] = true
			if lease.State != "healed" {
				busy += ", " + lease.ID + " (" + lease.Fault + ")"
			}
		}
	})
	if busy == "" {
		return ""
	}
	return busy[2:]
}

// steps runs the steps in their order.
func (r *run) steps(ctx context.Context) {
	for i, s := range r.scenario.Steps {
		if r.stopped(ctx) {
			r.skipRest(i)
			return
		}
		r.endNevers(func(g *guard) bool { return s.As != "" && g.step.Until == s.As })
		res := r.step(ctx, s, i)
		r.settleNevers()
		fatal := res.Verdict == result.Errored || res.Verdict == result.Failed && s.Action != ActionExpect && s.Action != ActionNever
		if fatal || r.lacks != "" || r.options.FailFast && r.worst() != result.Passed && r.worst() != result.Running {
			r.skipRest(i + 1)
			return
		}
	}
}

func (r *run) stopped(ctx context.Context) bool {
	if ctx.Err() != nil {
		return true
	}
	select {
	case <-r.session.gone:
		return true
	default:
		return false
	}
}

// skipRest reports the steps that are not run.
func (r *run) skipRest(from int) {
	for i := from; i < len(r.scenario.Steps); i++ {
		s := r.scenario.Steps[i]
		r.result.Steps = append(r.result.Steps, result.Step{
			Index: i + 1, Line: s.Line, Action: string(s.Action), Text: s.textWith(r.options.Patience), Verdict: result.Skipped, Began: time.Now(),
		})
		r.announce(result.Update{Change: result.StepEnded, Step: r.result.Steps[i]})
	}
}

// announce reports a change.
func (r *run) announce(u result.Update) {
	u.Scenario, u.Number, u.Of, u.Steps = r.result, r.options.Number, r.options.Of, len(r.scenario.Steps)
	if u.Change != result.ScenarioEnded {
		u.Scenario.Steps = nil
	}
	r.options.Observe(u)
	r.publish(u)
}

// worst returns the verdict on the steps so far.
func (r *run) worst() result.Verdict {
	all := make([]result.Verdict, len(r.result.Steps))
	for i, s := range r.result.Steps {
		all[i] = s.Verdict
	}
	return result.Worst(all...)
}

// judge gives the verdict.
func (r *run) judge(ctx context.Context) {
	if !r.stopped(ctx) {
		r.catchUp(ctx) // with the last changes
	}
	r.endNevers(func(g *guard) bool {
		g.cut = r.stopped(ctx)
		return true
	})
	r.result.Verdict = r.worst()
	if r.lacks != "" && r.result.Verdict == result.Passed {
		r.result.Verdict = result.Skipped // its subject was not tested
	}
	for _, s := range r.result.Steps {
		if s.Verdict == r.result.Verdict && s.Verdict != result.Passed {
			r.result.Message = fmt.Sprintf("%s %s: %s", s.Action, s.Text, s.Message)
			break
		}
	}
	switch {
	case ctx.Err() != nil && r.result.Verdict != result.Failed:
		r.result.Verdict, r.result.Message = result.Interrupted, "interrupted"
	case r.stopped(ctx) && r.result.Verdict != result.Failed:
		r.result.Verdict = result.Errored
		if r.session.err != nil && !errors.Is(r.session.err, context.Canceled) {
			r.result.Message = r.session.err.Error()
		}
	}
}

// keep records the state at the verdict.
func (r *run) keep(ctx context.Context) {
	r.result.Calls = callsSince(r.session.callsNow(context.WithoutCancel(ctx)), r.callsBefore)
	r.session.with(func(v *expect.View) {
		w := v.World
		r.result.World = result.World{
			Nodes: world.Values[api.Node](w, world.Node), VMs: world.Values[api.VM](w, world.VM), Hosts: world.Values[api.Host](w, world.Host),
			VCenters: world.Values[api.VCenter](w, world.VCenter), Components: world.Values[api.Component](w, world.Component),
			Volumes: world.Values[api.Volume](w, world.Volume), Attachments: world.Values[api.Attachment](w, world.Attachment),
			Leases: world.Values[api.Lease](w, world.Lease),
		}
	})
}
