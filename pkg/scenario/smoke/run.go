package smoke

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// run is the state of a smoke test.
type run struct {
	o      Options
	report *Report
	// number is the number of started checks, out of how many.
	number, of int

	// ended is the result of the exit check, once it has run.
	ended *result.Scenario
	// measured are the requirements of the sandbox for counting calls.
	measured scenario.Requirements
	// clean reports whether the running sandbox is as it was at its start: only then can it be used for that check.
	clean bool
}

// The checks in code, except those of the exit and of the phases.
const (
	versionCheck = "version"
	upgradeCheck = "upgrade"
	leaderCheck  = "leader-lost"
)

// instead is the scenario of the catalogue that this package replaces: its own has two replicas from the beginning, and expects
// nothing of the other one that a single replica might fail at too.
const instead = "leader-hand-over"

// Run tests a cloud controller manager. Its error is a problem of this package; everything else is in the report. After the end
// of ctx it skips the rest.
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
		r.o.Progress("\nbaseline %s", o.Baseline)
		r.runAll(ctx, *o.Baseline, true, first)
	}
	r.o.Progress("\n%s", o.CCM)
	r.runAll(ctx, o.CCM, false, then)
	if r.chosen(exitCheck) {
		r.exitAtLast(ctx)
	}
	r.report.Suite.Took = time.Since(r.report.Suite.Began)
	return r.report, nil
}

// chosen reports whether a check runs.
func (r *run) chosen(check string) bool { return Chosen(r.o.Only, check) }

// one returns 1 for a check that runs, and 0 for others.
func (r *run) one(check string) int {
	if r.chosen(check) {
		return 1
	}
	return 0
}

// load loads the scenarios of this package.
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

// add adds a check, with the reason if it is known to fail.
func (r *run) add(s result.Scenario, known []scenario.KnownFailure) {
	if why := r.o.CCM.knownIn(known); why != "" {
		r.report.Known[s.Name] = why
	}
	r.report.Suite.Scenarios = append(r.report.Suite.Scenarios, s)
}

// skipped returns the result of a scenario that is not run.
func (r *run) skipped(s *scenario.Scenario, why string) result.Scenario {
	c := r.begin(s.Metadata.Name, s.Metadata.Description, 1)
	c.step(context.Background(), "note", s.Metadata.Description, func(context.Context) (string, error) { return "", errSkip{why} })
	return c.end()
}

// runAll runs scenarios with one cloud controller manager. With the baseline, only the upgrade is a check; the others count its
// calls.
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
	seen := !r.chosen(phasePowerOff) && !r.chosen(phaseOutage) // calls are not needed
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
			r.o.Progress("  is not as it was: %s", left)
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

// session is a session at a vCenter.
type session struct {
	vcenter, key, agent string
	since               time.Time
}

// sessionsOf returns the sessions of cloud controller managers at all vCenters, as the administrator sees them.
func sessionsOf(ctx context.Context, sandbox *scenario.Running) ([]session, error) {
	status, err := sandbox.Status(ctx)
	if err != nil {
		return nil, err
	}
	var all []session
	for _, vc := range status.VCenters {
		out, err := sandbox.Command(ctx, scenario.Command{Argv: []string{"govc", "--vcenter", vc.Name, "session.ls", "-json"}})
		if err != nil {
			return nil, err
		}
		if out.Exit != 0 {
			return nil, fmt.Errorf("vcenter %q: govc session.ls: exit status %d: %s", vc.Name, out.Exit, out.Stderr)
		}
		list, err := readSessions(vc.Name, []byte(out.Stdout))
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// readSessions parses govc's output, and drops other sessions.
func readSessions(vcenter string, data []byte) ([]session, error) {
	var listed struct {
		SessionList []struct {
			Key       string    `json:"key"`
			UserAgent string    `json:"userAgent"`
			LoginTime time.Time `json:"loginTime"`
		} `json:"sessionList"`
	}
	if err := json.Unmarshal(data, &listed); err != nil {
		return nil, fmt.Errorf("vcenter %q: sessions: %w", vcenter, err)
	}
	var all []session
	for _, s := range listed.SessionList {
		if expect.Match(expect.Agent("ccm"), s.UserAgent) {
			all = append(all, session{vcenter, s.Key, s.UserAgent, s.LoginTime})
		}
	}
	return all, nil
}

// leftOf returns the sessions that still exist.
func leftOf(before, now []session) []session {
	var left []session
	for _, s := range before {
		if slices.ContainsFunc(now, func(n session) bool { return n.vcenter == s.vcenter && n.key == s.key }) {
			left = append(left, s)
		}
	}
	return left
}

// CCM is a cloud controller manager.
type CCM struct {
	// Source is the origin, as in --ccm: "builtin", "module:v1.36.0".
	Source string `json:"source"`
	// Version is the version of the source, or "" if unknown.
	Version string `json:"version,omitempty"`
	// Own means that it is this project's.
	Own bool `json:"own,omitempty"`
}

// String returns its source, with the version if the source does not name it.
func (c CCM) String() string {
	if c.Version == "" || strings.Contains(c.Source, c.Version) {
		return c.Source
	}
	return c.Source + " (" + c.Version + ")"
}

// is reports whether a known failure is about this cloud controller manager: by its source or, for a wrapped upstream, by its
// version.
func (c CCM) is(pattern string) bool {
	if expect.Match(pattern, c.Source) {
		return true
	}
	return !c.Own && strings.HasPrefix(c.Version, "v1.") && expect.Match(pattern, "module:"+c.Version)
}

// knownIn returns why the cloud controller manager is known to fail, or "".
func (c CCM) knownIn(list []scenario.KnownFailure) string {
	for _, k := range list {
		if c.is(k.CCM) {
			return k.Why
		}
	}
	return ""
}

// checkVersion checks that the program reports the version of its source.
func (r *run) checkVersion(ctx context.Context) result.Scenario {
	c := r.begin(versionCheck, "the program says which version it is: the one that its source names", 1)
	c.step(ctx, "run", "the program with --version", func(ctx context.Context) (string, error) {
		said, err := r.o.Version(ctx, r.o.CCM)
		if err != nil {
			return "", err
		}
		return judgeVersion(r.o.CCM, said)
	})
	return c.end()
}

var versionPattern = regexp.MustCompile(`v[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]*`)

// judgeVersion compares the version of a program with that of its source. The linker sets the version of upstream's releases
// (make: -X main.version), so one that is built from its module has none.
func judgeVersion(c CCM, said string) (string, error) {
	said = strings.TrimSpace(said)
	is := versionPattern.FindString(said)
	switch {
	case is == "" && strings.HasPrefix(c.Source, "module:"):
		return "", errSkip{fmt.Sprintf("says %q: the version is put in by upstream's make, not by the module", said)}
	case is == "":
		return "", errNot{fmt.Sprintf("says %q, which is no version", said)}
	case c.Version == "":
		return "says " + is, nil
	case is != c.Version:
		return "", errNot{fmt.Sprintf("says %s, its source says %s", is, c.Version)}
	}
	return "says " + is + ", as its source does", nil
}

// measure counts the calls of a new sandbox: during its start, and while idle.
func (r *run) measure(ctx context.Context, sandbox *scenario.Running, baseline bool) {
	const after = 2 * time.Second // what is said to be ready may have something left to do
	// The period covers one resync of the nodes; without a baseline a short one suffices.
	window := min(pace.Speed(r.o.Speed).Of(pace.CCMNodeStatusUpdate), time.Minute)
	if r.o.Baseline == nil {
		window = min(window, 10*time.Second)
	}
	r.o.Busy(fmt.Sprintf("counts calls to the vCenters, for %s in which nothing happens", window))
	defer r.o.Busy("")
	if backoff.Sleep(ctx, after) != nil {
		return
	}
	start, err := sandbox.Calls(ctx)
	if err != nil || backoff.Sleep(ctx, window) != nil {
		return
	}
	now, err := sandbox.Calls(ctx)
	if err != nil {
		return
	}
	r.set(phaseStart, baseline, countsOf(start))
	r.set(phaseSteady, baseline, perMinute(countsOf(since(start, now)), window))
}

// exitAtLast adds the check of the exit to the report; on a new sandbox if none was fit for it.
func (r *run) exitAtLast(ctx context.Context) {
	if r.ended != nil {
		r.add(*r.ended, knownExits())
		return
	}
	var s result.Scenario
	sandbox, err := r.bootFor(ctx, r.measured)
	if err != nil {
		c := r.begin(exitCheck, "asked to end (SIGTERM), it ends in order", 1)
		c.step(ctx, "note", "a sandbox", func(context.Context) (string, error) { return "", err })
		s = c.end()
	} else {
		s = r.checkExit(ctx, sandbox)
		if sandbox.Stop != nil {
			_ = sandbox.Stop(context.WithoutCancel(ctx)) // how that goes is no part of any result
		}
	}
	r.add(s, knownExits())
}

func (r *run) bootFor(ctx context.Context, need scenario.Requirements) (*scenario.Running, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	began := time.Now()
	sandbox, err := r.o.Boot(ctx, r.o.CCM, need)
	boot := result.Boot{Topology: need.Topology.Metadata.Name, Began: began, Took: time.Since(began)}
	if err != nil {
		boot.Error = err.Error()
	} else {
		boot.Name = sandbox.Name
	}
	r.report.Suite.Boots = append(r.report.Suite.Boots, boot)
	return sandbox, err
}
