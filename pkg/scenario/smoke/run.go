package smoke

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// run is one going on.
type run struct {
	o      Options
	report *Report
	// number is how many checks have begun, of how many.
	number, of int

	// ended is how the check of the exit went, once it was made.
	ended *result.Scenario
	// measured is what the sandbox needs on which calls are counted.
	measured scenario.Requirements
	// clean tells whether the sandbox that runs is as it was when it came up: only then is it fit for that check.
	clean bool
}

// The checks of this package's own beside that of the exit and those of the phases.
const (
	versionCheck = "version"
	upgradeCheck = "upgrade"
	leaderCheck  = "leader-lost"
)

// instead is the scenario of the catalogue that is not run, because this package has one of its own in its place: with two
// replicas from the beginning, and with nothing asked of the other one that a single one might fail at as well.
const instead = "leader-hand-over"

// Run judges a cloud controller manager. Its error says that something of this package's own is wrong; all else is in the
// report. When ctx ends what is left is skipped.
func Run(ctx context.Context, o Options) (*Report, error) {
	r := &run{o: o.withDefaults()}
	r.report = &Report{
		CCM: o.CCM, Baseline: o.Baseline, Strict: o.Strict, Only: o.Only, Known: map[string]string{}, Phases: newPhases(),
		Suite: result.Suite{Name: theme, Began: time.Now(), Seed: r.o.Seed, Speed: r.o.Speed, CCM: o.CCM.Source, CCMVersion: o.CCM.Version},
	}
	phases, err := load(nil, phasePowerOff, phaseOutage)
	if err != nil {
		return nil, err
	}
	r.measured = phases[0].Requirements()
	upgrade, err := load(nil, upgradeCheck)
	if err != nil {
		return nil, err
	}
	leader, err := load(nil, leaderCheck)
	if err != nil {
		return nil, err
	}
	if o.Baseline != nil {
		if upgrade, err = load([]topology.Setting{{Name: "to", Value: o.CCM.Source}}, upgradeCheck); err != nil {
			return nil, err
		}
	}
	r.o.Suite = slices.DeleteFunc(slices.Clone(o.Suite), isInstead)
	first := slices.Concat(Pick(o.Only, phases), Pick(o.Only, upgrade))
	then := slices.Concat(Pick(o.Only, phases), Pick(o.Only, r.o.Suite), Pick(o.Only, leader))
	if o.Baseline == nil {
		first = Pick(o.Only, upgrade)
	}
	r.of = len(first) + len(then) + r.one(versionCheck) + r.one(exitCheck)

	if r.chosen(versionCheck) {
		r.add(r.checkVersion(ctx), nil)
	}
	switch {
	case o.Baseline == nil && r.chosen(upgradeCheck):
		r.add(r.skipped(upgrade[0], "no baseline was given (--baseline)"), nil)
	case o.Baseline != nil && len(first) > 0:
		r.o.Say("\nbaseline %s", o.Baseline)
		r.runAll(ctx, *o.Baseline, true, first)
	}
	r.o.Say("\n%s", o.CCM)
	r.runAll(ctx, o.CCM, false, then)
	if r.chosen(exitCheck) {
		r.exitAtLast(ctx)
	}
	r.report.Suite.Took = time.Since(r.report.Suite.Began)
	return r.report, nil
}

// chosen tells whether a check is to be made.
func (r *run) chosen(check string) bool { return Chosen(r.o.Only, check) }

// one is 1 for a check that is to be made, and 0 for others.
func (r *run) one(check string) int {
	if r.chosen(check) {
		return 1
	}
	return 0
}

// load loads scenarios that are for this package.
func load(settings []topology.Setting, names ...string) ([]*scenario.Scenario, error) {
	var list []*scenario.Scenario
	for _, name := range names {
		s, err := scenario.LoadCatalogue(theme+"/"+name, settings...)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// add takes a check down, with the reason why it is known to fail, if it is.
func (r *run) add(s result.Scenario, known []scenario.KnownFailure) {
	if why := r.o.CCM.knownIn(known); why != "" {
		r.report.Known[s.Name] = why
	}
	r.report.Suite.Scenarios = append(r.report.Suite.Scenarios, s)
}

// skipped is a scenario that is not run.
func (r *run) skipped(s *scenario.Scenario, why string) result.Scenario {
	c := r.begin(s.Metadata.Name, s.Metadata.Description, 1)
	c.step(context.Background(), "note", s.Metadata.Description, func(context.Context) (string, error) { return "", errSkip{why} })
	return c.end()
}

// runAll runs scenarios with one cloud controller manager. Of the baseline's own only the upgrade is a check; the others
// are for the calls that it makes.
func (r *run) runAll(ctx context.Context, c CCM, baseline bool, list []*scenario.Scenario) {
	options := scenario.Options{Seed: r.o.Seed, Patience: r.o.Patience, Observe: func(u result.Update) {
		if u.Change == result.ScenarioBegan {
			r.number++
			r.clean = false // until it has ended well
		}
		u.Number, u.Of = r.number, r.of
		r.o.Observe(u)
	}}
	measured := r.measured.Key()
	seen := !r.chosen(phasePowerOff) && !r.chosen(phaseOutage) // calls are nobody's business
	boot := func(ctx context.Context, need scenario.Requirements) (*scenario.Running, error) {
		sandbox, err := r.o.Boot(ctx, c, need)
		if err != nil {
			return nil, err
		}
		r.clean = true
		if need.Key() != measured {
			return sandbox, nil
		}
		if !seen {
			seen = true
			r.measure(ctx, sandbox, baseline)
		}
		if baseline {
			return sandbox, nil
		}
		stop := sandbox.Stop
		sandbox.Stop = func(ctx2 context.Context) error {
			if r.ended == nil && r.clean && ctx.Err() == nil && r.chosen(exitCheck) {
				s := r.checkExit(ctx, sandbox)
				r.ended = &s
			}
			if stop == nil {
				return nil
			}
			return stop(ctx2)
		}
		return sandbox, nil
	}
	suite := scenario.RunAll(ctx, list, boot, options, func(s *scenario.Scenario, out scenario.Outcome) {
		r.clean = len(out.Left) == 0 && out.Verdict != result.Errored
		for _, left := range out.Left {
			r.o.Say("  is not as it was: %s", left)
		}
		if s.Theme == theme && strings.HasPrefix(s.Metadata.Name, "calls-") && out.Verdict != result.Errored && out.Verdict != result.Skipped {
			r.set(s.Metadata.Name, baseline, countsOf(out.Calls))
		}
		if baseline && s.Metadata.Name != upgradeCheck {
			return
		}
		if s.Metadata.Name == upgradeCheck && s.Theme == theme {
			out.CCM, out.CCMVersion = r.o.CCM.Source, r.o.CCM.Version
		}
		r.add(out.Scenario, s.Fails)
	})
	r.report.Suite.Boots = append(r.report.Suite.Boots, suite.Boots...)
}
