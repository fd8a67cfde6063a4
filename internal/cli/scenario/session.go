package scenario

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/stage"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// session is one run of the command.
type session struct {
	*stage.Show
	o          *runOptions
	suite      *result.Suite
	given      sandbox.CCM        // that of the flags
	kubernetes sandbox.Kubernetes // that of an embedded cluster

	bad   bool    // a scenario on the last sandbox did not pass
	stops []error // of stopping them
}

func newSuite(o *runOptions, program sandbox.Kubernetes) *result.Suite {
	return &result.Suite{
		Name: o.choice.name(), Began: time.Now(), Seed: o.seed, Speed: o.speed, CCM: orBuiltin(o.ccm.Source),
		Version: build.Version(), KubernetesVersion: cmp.Or(program.Version, build.Kubernetes()),
	}
}

// onRunning runs all scenarios on a sandbox that is up.
func (s *session) onRunning(ctx context.Context) error {
	s.o.NameFlag = s.o.on
	t, err := s.o.Connect(ctx)
	if err != nil {
		return err
	}
	status, err := command.Ask(ctx, t, (*api.Client).Status)
	if err != nil {
		return err
	}
	s.suite.KubernetesVersion = cmp.Or(status.KubernetesVersion, s.suite.KubernetesVersion)
	on, err := s.o.allowed(ctx, t, status)
	if err != nil {
		return err
	}
	s.Println("%s", runTitle(s.o))
	s.Began(ctx, t.Client)
	s.runAll(ctx, func(_ context.Context, r scenario.Requirements) (*scenario.Running, error) {
		if want := r.Topology.Metadata.Name; want != status.Topology {
			s.Println("note: topology %s is wanted; sandbox %s is of %s", want, t.Name, status.Topology)
		}
		return &scenario.Running{Sandbox: on, Name: t.Name, Command: stage.Runner(s.o.Self, t.Name)}, nil
	})
	s.suite.Boots, s.suite.CCM = nil, ""
	s.Collect(ctx, t.Client, status.LastEvent)
	return nil
}

// onOwn boots sandboxes in this process, and takes each down again.
func (s *session) onOwn(ctx context.Context) error {
	root, err := s.o.Sandboxes.Root()
	if err != nil {
		return err
	}
	name, err := s.o.sandboxName()
	if err != nil {
		return err
	}
	s.Println("%s", runTitle(s.o))
	m := &stage.Booter{
		Root: root, Name: name, Command: "scenario run", Retain: s.o.retain, Limits: s.o.limits, Print: s.Println, Busy: s.Busy, Lost: s.Lost,
	}
	refused := map[string]error{} // by what was required: it will not come up the next time either
	var first error
	s.runAll(ctx, func(ctx context.Context, need scenario.Requirements) (*scenario.Running, error) {
		if err := refused[need.Key()]; err != nil {
			return nil, err
		}
		r, err := s.boot(ctx, m, need)
		if err != nil && ctx.Err() == nil {
			refused[need.Key()] = err
			first = cmp.Or(first, err)
		}
		return r, err
	})
	return cmp.Or(first, errors.Join(s.stops...))
}

// interrupted says what an interruption still waits for.
func (s *session) interrupted() {
	if s.o.on == "" {
		s.Println("interrupted: stops; Ctrl-C again ends it at once")
		return
	}
	s.Println("interrupted: heals its faults in sandbox %s, in %s at most; Ctrl-C again ends it at once and leaves them", s.o.on, scenario.GraceTime)
}

// runAll runs the scenarios, each on what boot gives.
func (s *session) runAll(ctx context.Context, boot scenario.Boot) {
	notified := make(chan struct{})
	quiet := context.AfterFunc(ctx, func() { defer close(notified); s.interrupted() })
	defer func() {
		if !quiet() {
			<-notified
		}
	}()
	options := scenario.Options{Observe: s.Update, Seed: s.o.seed, Patience: s.o.patience, FailFast: s.o.failFast}
	suite := scenario.RunAll(ctx, s.o.scenarios, boot, options, func(_ *scenario.Scenario, out scenario.Outcome) {
		s.bad = s.bad || !out.Verdict.OK()
		what := "is not as it was"
		switch {
		case ctx.Err() == nil:
		case s.o.on == "":
			return // the sandbox is thrown away as it is
		default:
			what = "is not yet as it was" // it was healed, and that is all that was waited for
		}
		for _, left := range out.Left {
			s.Println("  %s: %s", what, left)
		}
	})
	s.suite.Scenarios, s.suite.Boots = suite.Scenarios, suite.Boots
	if suite.Speed > 0 {
		s.suite.Speed = suite.Speed
	}
}

// boot boots a sandbox for scenarios.
func (s *session) boot(ctx context.Context, m *stage.Booter, need scenario.Requirements) (*scenario.Running, error) {
	want, err := s.spec(ctx, need)
	if err != nil {
		return nil, err
	}
	r, err := m.Boot(ctx, want)
	if err != nil {
		return nil, err
	}
	s.bad = false
	s.Println("sandbox %s: %s, ready in %.1fs", r.Name, want.Topology.Count(), r.Took.Seconds())
	s.Began(ctx, r.Client)
	program := want.CCM.Program
	if s.suite.CCMVersion == "" && program.Source == s.suite.CCM {
		s.suite.CCMVersion = program.Version
	}
	return &scenario.Running{
		Sandbox: r.Client, Name: r.Name, CCM: program.Source, CCMVersion: program.Version, Command: stage.Runner(s.o.Self, r.Name),
		Stop: func(ctx context.Context) error {
			s.Collect(ctx, r.Client, 0)
			err := r.Stop(s.bad)
			s.stops = append(s.stops, err)
			return err
		},
	}, nil
}

// spec is the sandbox that is needed: what flags say counts more than what scenarios do, but for arguments and
// environment, of which there are both.
func (s *session) spec(ctx context.Context, need scenario.Requirements) (stage.Spec, error) {
	want := stage.Spec{Topology: need.Topology, Speed: s.o.speed, CCM: s.given, Cluster: s.o.ground.Of(s.o.retain)}
	var err error
	if want.Cluster.Kind != nil {
		want.Cluster.Kind.Knobs = s.o.kubernetes.Knobs(need.Kubernetes())
	}
	if s.o.embedded() {
		if want.Cluster.Kubernetes, err = s.o.kubernetes.ResolveFor(ctx, need.Topology, need.Kubernetes(), &s.kubernetes, s.o.Streams); err != nil {
			return want, err
		}
	}
	c := need.Components
	if c.Speed > 0 {
		want.Speed = c.Speed
	}
	if want.CSI, err = s.o.csi.Judged(c.CSI, c.CSIReplicas).Resolve(ctx, s.o.Streams); err != nil {
		return want, err
	}
	want.LoadBalancer = c.LoadBalancer
	if c.CCM.Source != "" && s.o.ccm.Source == "" && s.o.ccm.Watch == "" {
		flags := s.o.ccm
		flags.Source = c.CCM.Source
		if want.CCM, err = flags.Resolve(ctx, s.o.Streams); err != nil {
			return want, err
		}
	}
	if c.CCM.Replicas > 0 && s.o.ccm.Replicas <= 1 {
		want.CCM.Replicas = c.CCM.Replicas
	}
	if s.o.ground.Podded() {
		if want.CCM, err = s.o.ccm.Deployable(ctx, want.CCM, s.o.Streams); err != nil {
			return want, err
		}
	}
	want.CCM.Args = slices.Concat(c.CCM.Args, s.o.ccm.Args)
	want.CCM.Env = slices.Concat(environ(c.CCM.Env), s.o.ccm.Env)
	return want, nil
}
