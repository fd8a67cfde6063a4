package scenario

import (
	"context"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// Running is a sandbox that was started for scenarios.
type Running struct {
	Sandbox
	// Name, CCM and CCMVersion are for the results.
	Name, CCM, CCMVersion string
	// Command is that of [Options].
	Command func(context.Context, Command) (Output, error)
	// Stop ends the sandbox and waits for that, even after the end of ctx, which only means that a caller waits for it. Nil for a
	// sandbox that stays; one with a Stop is disposable, as in [Options].
	Stop func(ctx context.Context) error
}

// Boot starts a sandbox, and returns when it is ready.
type Boot func(ctx context.Context, r Requirements) (*Running, error)

// RunAll runs scenarios in the order of [GroupBy], each group on one sandbox. It does not reuse a sandbox that a scenario left
// changed or on which one did not pass: a wrong program may keep a wrong state, and the next scenario would get the blame. The
// caller fills in name, version and CCM of the suite. Done, if not nil, is called with each outcome while its sandbox runs.
func RunAll(ctx context.Context, list []*Scenario, boot Boot, options Options, done func(*Scenario, Outcome)) result.Suite {
	suite := result.Suite{Began: time.Now(), Seed: options.withDefaults().Seed}
	b := &boots{boot: boot, suite: &suite}
	defer func() { b.stop(ctx); suite.Took = time.Since(suite.Began) }()
	if done == nil {
		done = func(*Scenario, Outcome) {}
	}
	options.Of, options.Number = len(list), 0
	for _, group := range GroupBy(list) {
		for _, s := range group.Scenarios {
			options.Number++
			outcome := b.run(ctx, s, group.Requirements, options)
			suite.Scenarios = append(suite.Scenarios, outcome.Scenario)
			suite.Speed = max(suite.Speed, outcome.Speed)
			done(s, outcome) // while the sandbox still runs
			if b.spoilt {
				b.stop(ctx)
			}
		}
		b.stop(ctx)
	}
	return suite
}

// boots starts sandboxes when they are needed.
type boots struct {
	boot    Boot
	suite   *result.Suite
	running *Running
	// spoilt means that no other scenario may run on it.
	spoilt bool
}

func (b *boots) run(ctx context.Context, s *Scenario, need Requirements, options Options) Outcome {
	if err := ctx.Err(); err != nil {
		return notRun(s, options, result.Interrupted, "interrupted")
	}
	if b.running == nil {
		began := time.Now()
		running, err := b.boot(ctx, need)
		record := result.Boot{Topology: need.Topology.Metadata.Name, Began: began, Took: time.Since(began)}
		if err != nil {
			record.Error = err.Error()
			b.suite.Boots = append(b.suite.Boots, record)
			return notRun(s, options, result.Errored, "the sandbox did not come up: "+err.Error())
		}
		record.Name = running.Name
		b.suite.Boots = append(b.suite.Boots, record)
		b.running = running
	}
	options.Command, options.Name = b.running.Command, b.running.Name
	options.CCM, options.CCMVersion = b.running.CCM, b.running.CCMVersion
	options.Disposable = b.running.Stop != nil
	outcome := Run(ctx, s, b.running, options)
	b.spoilt = len(outcome.Left) > 0 || !outcome.Verdict.OK()
	return outcome
}

// stop ends the running sandbox. Its errors are no part of a result.
func (b *boots) stop(ctx context.Context) {
	if b.running == nil {
		return
	}
	if b.running.Stop != nil {
		_ = b.running.Stop(ctx)
	}
	b.running, b.spoilt = nil, false
}

// notRun is the outcome of a scenario that could not begin.
func notRun(s *Scenario, options Options, verdict result.Verdict, message string) Outcome {
	options = options.withDefaults()
	r := &run{scenario: s, options: options}
	r.result = result.Scenario{
		Name: s.Metadata.Name, Theme: s.Theme, File: s.File, Description: s.Metadata.Description, Reported: s.Reported,
		Began: time.Now(), Seed: options.Seed, Parameters: s.Values,
	}
	r.announce(result.Update{Change: result.ScenarioBegan})
	r.skipRest(0)
	r.result.Verdict, r.result.Message = verdict, message
	r.announce(result.Update{Change: result.ScenarioEnded})
	return Outcome{Scenario: r.result}
}

// Publisher is a [Sandbox] that reports the progress of the scenario on it to all its watchers. Other sandboxes run scenarios
// too.
type Publisher interface {
	Publish(ctx context.Context, r api.Run) error
}

const (
	// publishEvery is the minimum time between two reports of what a step waits for.
	publishEvery = 250 * time.Millisecond
	// publishTime bounds one request, lastTime the last one, which the end of a scenario waits for.
	publishTime = 5 * time.Second
	lastTime    = time.Second
)

// publisher reports the progress of a scenario to a sandbox. Its goroutine sends only the newest state. Only the end waits for
// it, for a bounded time, and its errors change nothing. A nil publisher reports nothing. Make it with [publish], end it with
// [publisher.close].
type publisher struct {
	sandbox Publisher
	cancel  context.CancelFunc
	ended   chan struct{}
	wake    chan struct{} // has an element when next may be set

	mu     sync.Mutex
	next   *api.Run // the state to send
	urgent bool     // send at once: more than the current wait has changed
	last   bool     // the final state
}

// publish starts a publisher; nil if the sandbox is not a Publisher.
func publish(ctx context.Context, sandbox Sandbox) *publisher {
	if started, ok := sandbox.(*Running); ok {
		sandbox = started.Sandbox
	}
	to, ok := sandbox.(Publisher)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &publisher{sandbox: to, cancel: cancel, ended: make(chan struct{}), wake: make(chan struct{}, 1)}
	go func() { defer close(p.ended); p.run(ctx) }()
	return p
}

// put replaces the state to send.
func (p *publisher) put(r api.Run, urgent bool) {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.next, p.urgent = &r, p.urgent || urgent
	p.mu.Unlock()
	notify.Wake(p.wake)
}

// close sends the last state, if that is quick, and ends the publisher.
func (p *publisher) close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.last = true
	p.mu.Unlock()
	notify.Wake(p.wake)
	enough := time.AfterFunc(lastTime, p.cancel)
	<-p.ended
	enough.Stop()
	p.cancel()
}

func (p *publisher) run(ctx context.Context) {
	var soon <-chan time.Time // when a state that is not urgent may be sent
	var sent time.Time
	for {
		p.mu.Lock()
		next, wait, last := p.next, publishEvery-time.Since(sent), p.last
		if next != nil && (p.urgent || last || wait <= 0) {
			p.next, p.urgent, wait = nil, false, 0
		}
		p.mu.Unlock()
		switch {
		case next == nil && last:
			return
		case next == nil:
			soon = nil
		case wait > 0:
			soon = time.After(wait)
		default:
			p.announce(ctx, *next)
			sent = time.Now()
			if ctx.Err() != nil {
				return
			}
			continue
		}
		select {
		case <-p.wake:
		case <-soon:
		case <-ctx.Done():
			return
		}
	}
}

// announce sends a state once. After an error, the next state replaces it.
func (p *publisher) announce(ctx context.Context, r api.Run) {
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	_ = p.sandbox.Publish(ctx, r)
}

// publish reports the progress of the run to the sandbox.
func (r *run) publish(u result.Update) {
	if r.publisher == nil {
		return
	}
	now := api.Run{
		Name: r.result.Name, File: r.result.File, Description: r.result.Description, State: runState(r.result.Verdict),
		Message: r.result.Message, Began: r.result.Began, Number: r.options.Number, Of: r.options.Of,
		Steps: make([]api.RunStep, len(r.scenario.Steps)),
	}
	if u.Change == result.ScenarioEnded {
		ended := r.result.Began.Add(r.result.Took)
		now.Ended = &ended
	}
	for i, s := range r.scenario.Steps {
		if i >= len(r.result.Steps) {
			now.Steps[i] = api.RunStep{Text: string(s.Action) + " " + report.Line(s.textWith(r.options.Patience)), State: "pending"}
			continue
		}
		now.Steps[i] = runStep(r.result.Steps[i])
	}
	if u.Change == result.Waiting {
		now.Steps[u.Step.Index-1].Text = u.Step.Action + " " + report.Line(u.Step.Text)
		now.Steps[u.Step.Index-1].Message = report.Line(u.Text)
	}
	r.publisher.put(now, u.Change != result.Waiting)
}

func runStep(s result.Step) api.RunStep {
	step := api.RunStep{
		Text: s.Action + " " + report.Line(s.Text), State: runState(s.Verdict), Message: report.Line(s.Message), Event: s.Event,
	}
	if s.Verdict != result.Running {
		step.Took = api.Duration(s.Took)
	}
	if s.Verdict != result.Skipped || s.Took > 0 { // otherwise it never began
		step.Began = &s.Began
	}
	return step
}

// runState returns a verdict as a state of package api.
func runState(v result.Verdict) string {
	switch v {
	case result.Running:
		return "running"
	case result.Errored:
		return "error"
	case result.Interrupted:
		return string(result.Skipped) // readers of the API know no other word
	}
	return string(v)
}
