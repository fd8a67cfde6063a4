package scenario

import (
	"context"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// Sandbox is one that is up: an [api.Client].
type Sandbox interface {
	Status(ctx context.Context) (api.Status, error)
	Watch(ctx context.Context, after uint64, f func(api.Update) error) error
	Inject(ctx context.Context, r api.InjectRequest) (api.Lease, error)
	Heal(ctx context.Context, r api.HealRequest) ([]api.Lease, error)
	Calls(ctx context.Context) ([]api.Calls, error)
	Metrics(ctx context.Context, component string) ([]byte, error)
}

// Options say how a scenario is run. The zero value will do for scenarios that run no commands.
type Options struct {
	// Observe is told every change, from one goroutine at a time. It must not take long.
	Observe func(result.Update)
	// Command runs a command of a scenario, kubectl, govc or vsphere-sandbox, with the environment of the sandbox. Its error
	// says that it could not be run; what it does with its exit status is the scenario's to judge.
	Command func(context.Context, Command) (Output, error)
	// Seed draws targets. Default: 1, so that a run is like the one before.
	Seed uint64
	// Patience is what every within: is multiplied with, for slow machines. Default: 1.
	Patience float64
	// FailFast skips what comes after the first step that does not pass. Without it only a wait that fails, and what could
	// not be done, end a scenario early.
	FailFast bool
	// Disposable tells that the sandbox is thrown away afterwards: a run that is interrupted puts nothing back in it.
	Disposable bool
	// Number is which scenario of Of this one is, for Observe.
	Number, Of int
	// Name, CCM and CCMVersion are told in the result: those of the sandbox.
	Name, CCM, CCMVersion string
}

// Command is a command of a scenario.
type Command struct {
	// Argv is kubectl, govc or vsphere-sandbox, with its arguments.
	Argv  []string
	Stdin string
	// Dir is the folder in which it runs, to which its paths are relative: that of the scenario's file. "" for the
	// working directory.
	Dir string
}

// Output is what a command did.
type Output struct {
	Stdout, Stderr string
	Exit           int
}

// Outcome is what came of a scenario.
type Outcome struct {
	result.Scenario
	// Left says what of the sandbox is not as it was at the beginning: no other scenario is to be run on it.
	Left []string
	// Timeline is what happened without times and numbers, the same for every run of a seed: see [Timeline].
	Timeline string
}

// The times that a run has for what is no step.
const (
	syncTime   = 30 * time.Second
	healTime   = 2 * time.Minute
	settleTime = time.Minute
	wellTime   = 5 * time.Second
	// GraceTime is how long it is tried to heal faults in a sandbox that stays, once the run was interrupted.
	GraceTime = 15 * time.Second
	// DefaultWithin is how long an expectation may take that does not say it. Failing takes it all, passing what it takes.
	DefaultWithin = time.Minute
	// pollEvery is how often calls and metrics are asked for, which nobody tells.
	pollEvery = 250 * time.Millisecond
)

func (o Options) withDefaults() Options {
	if o.Seed == 0 {
		o.Seed = 1
	}
	if !(o.Patience > 0) {
		o.Patience = 1
	}
	if o.Observe == nil {
		o.Observe = func(result.Update) {}
	}
	if o.Number == 0 {
		o.Number, o.Of = 1, 1
	}
	return o
}

func (s *Step) within() Duration {
	if s.Within != nil {
		return *s.Within
	}
	return Duration{D: DefaultWithin}
}
