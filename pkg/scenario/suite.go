package scenario

import (
	"context"
	"time"

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
		return notRun(s, options, result.Skipped, "interrupted")
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
