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
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/installed"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/verdict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// run is the state of a smoke test.
type run struct {
	o      Options
	kind   *kind
	report *Report
	// number is the number of started checks, out of how many.
	number, of int

	// measured are the requirements of the sandbox for counting calls.
	measured scenario.Requirements
	// side is what is being checked.
	side *side
}

// side is one of the programs that a run checks: the baseline, then the release.
type side struct {
	program  Program
	baseline bool
	checks   []checked // in their order

	// ended is the result of the exit check, once it has run.
	ended *result.Scenario
	// clean reports whether the running sandbox is as it was at its start: only then can it be used for that check.
	clean bool

	// requests are those of the account of an installation, unread is why some are missing.
	requests []installed.Request
	unread   error
	// upgraded means that another program has run on the sandbox.
	upgraded bool
}

// checked is a check that has run, and what is known of it.
type checked struct {
	result.Scenario
	known []verdict.Known
	must  bool
}

func (s *side) add(result result.Scenario, known []verdict.Known, must bool) {
	s.checks = append(s.checks, checked{result, known, must})
}

// find returns the result of a check, or nil.
func (s *side) find(check string) *result.Scenario {
	for i := range s.checks {
		if name(&s.checks[i].Scenario) == check {
			return &s.checks[i].Scenario
		}
	}
	return nil
}

// versionCheck is the check of what the program says that it is.
const versionCheck = "version"

// Run tests a cloud controller manager, or a CSI driver. With a baseline, it runs the same checks with it first, and judges by the differences.
// Its error is a problem of this package; everything else is in the report. After the end of ctx it skips the rest.
func Run(ctx context.Context, o Options) (*Report, error) {
	r := &run{o: o.withDefaults(), kind: kindOf(o.Program)}
	r.report = &Report{
		Program: o.Program, Baseline: o.Baseline, Strict: o.Strict, Only: o.Only, Phases: slices.Clone(r.kind.phases),
		Suite: result.Suite{Name: theme, Began: time.Now(), Seed: r.o.Seed, Speed: r.o.Speed, CCM: o.Program.Source, CCMVersion: o.Program.Version},
	}
	phases, err := load(nil, r.kind.counted()...)
	if err != nil {
		return nil, err
	}
	r.measured = phases[0].Requirements()
	var leader []*scenario.Scenario
	if r.kind.leader != "" {
		if leader, err = load(nil, r.kind.leader); err != nil {
			return nil, err
		}
	}
	var settings []topology.Setting
	if o.Baseline != nil {
		settings = []topology.Setting{{Name: "to", Value: o.Program.Source}}
		r.report.Suite.Baseline = o.Baseline.String()
	}
	upgrade, err := load(settings, r.kind.upgrade)
	if err != nil {
		return nil, err
	}
	suite := r.kind.suite(o.Suite)
	upgrade = Pick(o.Only, upgrade)
	var apart []*scenario.Scenario // what this program cannot do, and why
	why := ""
	switch {
	case o.Pods:
		apart, why = slices.Concat(upgrade, Pick(o.Only, leader)), "on this cluster the program runs as pods"
		upgrade, leader = nil, nil
	case o.Program.Driver && !(o.Program.Own && (o.Baseline == nil || o.Baseline.Own)):
		apart, why = Pick(o.Only, leader), onePerMachine
		leader = nil
	}
	same := slices.Concat(Pick(o.Only, phases), Pick(o.Only, suite), Pick(o.Only, leader))

	each := len(same) + r.one(versionCheck) + r.one(sanityCheck) + r.one(exitCheck)
	if o.Installed != nil {
		each += 1 + r.one(rightsCheck)
	}
	r.of = each + len(upgrade) + len(apart)
	release, before := &side{program: o.Program}, &side{baseline: true}
	if o.Baseline != nil {
		r.of += each
		before.program = *o.Baseline
		r.check(ctx, before, slices.Concat(Pick(o.Only, phases), upgrade, Pick(o.Only, suite), Pick(o.Only, leader)))
	} else if len(upgrade) > 0 {
		r.side = release
		before.add(r.skipped(upgrade[0], "no baseline was given (--baseline)"), nil, upgrade[0].Must)
	}
	r.check(ctx, release, same)
	for _, one := range apart {
		release.add(r.skipped(one, why), nil, false)
	}
	r.judge(release, before)
	r.report.Suite.Took = time.Since(r.report.Suite.Began)
	if table := r.report.calls(); table != nil {
		r.report.Suite.Tables = append(r.report.Suite.Tables, *table)
	}
	return r.report, nil
}

// check runs the checks of one program, and these scenarios between them.
func (r *run) check(ctx context.Context, s *side, list []*scenario.Scenario) {
	r.side = s
	as := ""
	if s.baseline {
		as = "baseline "
	}
	r.o.Progress("\n%s%s", as, s.program)
	if r.chosen(versionCheck) {
		s.add(r.checkVersion(ctx), nil, false)
	}
	i := r.installation(s)
	if i != nil {
		if !r.install(ctx, s, i) {
			for _, one := range list {
				s.add(r.skipped(one, "the release cannot be installed: see "+installationCheck), one.Fails, one.Must)
			}
			return
		}
	}
	r.runAll(ctx, list)
	if r.chosen(sanityCheck) {
		result, known := r.checkSanity(ctx)
		s.add(result, known, false)
	}
	if r.chosen(exitCheck) {
		r.exitAtLast(ctx)
	}
	if i != nil && r.chosen(rightsCheck) {
		r.checkRights(ctx, s, i)
	}
}

// judge compares the two, and fills in the report: the upgrade, which begins with the baseline, is a check of the release.
func (r *run) judge(release, before *side) {
	rules := verdict.Rules{Baseline: r.o.Baseline != nil, Strict: r.o.Strict}
	add := func(c *checked, baseline *result.Scenario) {
		c.Judgment = rules.Judge(verdict.Check{
			Result: &c.Scenario, Baseline: baseline, Known: verdict.Find(c.known, release.program), Of: r.o.Baseline, Must: c.must,
		})
		r.report.Suite.Scenarios = append(r.report.Suite.Scenarios, c.Scenario)
	}
	rest := release.checks
	if len(rest) > 0 && rest[0].Name == versionCheck {
		add(&rest[0], before.find(versionCheck))
		rest = rest[1:]
	}
	for i := range before.checks {
		if c := &before.checks[i]; r.isUpgrade(c.Name, c.Theme) {
			add(c, nil)
		}
	}
	for i := range rest {
		add(&rest[i], before.find(name(&rest[i].Scenario)))
	}
}

// chosen reports whether a check runs.
func (r *run) chosen(check string) bool {
	switch check {
	case exitCheck:
		if r.o.Pods {
			return false
		}
	case sanityCheck:
		if r.o.Pods || !r.o.Program.Driver {
			return false
		}
	}
	return Chosen(r.o.Only, check)
}

// one returns 1 for a check that runs, and 0 for others.
func (r *run) one(check string) int {
	if r.chosen(check) {
		return 1
	}
	return 0
}

// isUpgrade reports whether a scenario is the upgrade.
func (r *run) isUpgrade(name, of string) bool { return name == r.kind.upgrade && of == theme }

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

// skipped returns the result of a scenario that is not run.
func (r *run) skipped(s *scenario.Scenario, why string) result.Scenario {
	c := r.begin(s.Metadata.Name, s.Metadata.Description, 1)
	c.s.Theme, c.s.File = s.Theme, s.File
	c.step(context.Background(), "note", s.Metadata.Description, func(context.Context) (string, error) { return "", errSkip{why} })
	return c.end()
}

// runAll runs scenarios with the program that is being checked.
func (r *run) runAll(ctx context.Context, list []*scenario.Scenario) {
	now := r.side
	options := scenario.Options{
		Seed: r.o.Seed, Patience: r.o.Patience,
		KnownToFail: func(s *scenario.Scenario) bool { return verdict.Find(s.Fails, now.program) != nil },
		Observe: func(u result.Update) {
			if u.Change == result.ScenarioBegan {
				r.number++
				now.clean = false // until it has ended well
			}
			u.Number, u.Of = r.number, r.of
			r.o.Observe(judgedSoFar(u, list, now.program, r.o.Strict))
		},
	}
	measured := r.measured.Key()
	seen := !slices.ContainsFunc(r.kind.counted(), r.chosen) // calls are not needed
	boot := func(ctx context.Context, need scenario.Requirements) (*scenario.Running, error) {
		sandbox, err := r.o.Boot(ctx, now.program, need)
		if err != nil {
			return nil, err
		}
		now.clean, now.upgraded = true, false
		counted := need.Key() == measured
		if counted && !seen {
			seen = true
			r.measure(ctx, sandbox)
		}
		stop := sandbox.Stop
		sandbox.Stop = func(ctx2 context.Context) error {
			if counted && now.ended == nil && now.clean && ctx.Err() == nil && r.chosen(exitCheck) {
				s := r.checkExit(ctx, sandbox)
				now.ended = &s
			}
			if !now.upgraded { // otherwise the requests are those of two programs
				r.collect(ctx, now, sandbox)
			}
			if stop == nil {
				return nil
			}
			return stop(ctx2)
		}
		return sandbox, nil
	}
	suite := scenario.RunAll(ctx, list, boot, options, func(s *scenario.Scenario, out scenario.Outcome) {
		upgrade := r.isUpgrade(s.Metadata.Name, s.Theme)
		// After an upgrade it is another program that runs.
		now.clean = len(out.Left) == 0 && out.Verdict != result.Errored && !upgrade
		for _, left := range out.Left {
			r.o.Progress("  is not as it was: %s", left)
		}
		if s.Theme == theme && strings.HasPrefix(s.Metadata.Name, phasePrefix) && (out.Verdict == result.Passed || out.Verdict == result.Failed) {
			r.set(s.Metadata.Name, r.kind.countsOf(out.Calls))
		}
		now.upgraded = now.upgraded || upgrade
		if upgrade {
			out.CCM, out.CCMVersion = r.o.Program.Source, r.o.Program.Version
		}
		now.add(out.Scenario, s.Fails, s.Must)
	})
	r.report.Suite.Boots = append(r.report.Suite.Boots, suite.Boots...)
}

// judgedSoFar adds to the result of a scenario, for those who follow the run, whether its failure is known.
func judgedSoFar(u result.Update, list []*scenario.Scenario, c Program, strict bool) result.Update {
	i := slices.IndexFunc(list, func(s *scenario.Scenario) bool {
		return s.Metadata.Name == u.Scenario.Name && s.Theme == u.Scenario.Theme
	})
	if u.Change == result.ScenarioEnded && i >= 0 {
		check := verdict.Check{Result: &u.Scenario, Known: verdict.Find(list[i].Fails, c), Must: list[i].Must}
		u.Scenario.Judgment = verdict.Rules{Strict: strict}.Judge(check)
	}
	return u
}

// session is a session at a vCenter.
type session struct {
	vcenter, key, agent string
	since               time.Time
}

// sessionsOf returns the sessions of what is judged at all vCenters, as the administrator sees them.
func (k *kind) sessionsOf(ctx context.Context, sandbox *scenario.Running) ([]session, error) {
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
		list, err := k.readSessions(vc.Name, []byte(out.Stdout))
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// readSessions parses govc's output, and drops other sessions.
func (k *kind) readSessions(vcenter string, data []byte) ([]session, error) {
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
		if expect.Match(expect.Agent(k.agent), s.UserAgent) {
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

// Program is what is judged.
type Program = verdict.Program

// checkVersion checks that the program reports the version of its source.
func (r *run) checkVersion(ctx context.Context) result.Scenario {
	c := r.begin(versionCheck, "the program says which version it is: the one that its source names", 1)
	c.step(ctx, "run", "the program with --version", func(ctx context.Context) (string, error) {
		said, err := r.o.Version(ctx, r.side.program)
		if err != nil {
			return "", err
		}
		return judgeVersion(r.side.program, said)
	})
	return c.end()
}

var versionPattern = regexp.MustCompile(`v[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]*`)

// judgeVersion compares the version of a program with that of its source. The linker sets the version of upstream's releases
// (make: -X main.version), so one that is built from its module has none.
func judgeVersion(c Program, said string) (string, error) {
	said = strings.TrimSpace(said)
	is := versionPattern.FindString(said)
	switch {
	case c.Own && c.Version != "" && strings.Contains(said, c.Version):
		return "says " + c.Version + ", as its source does", nil
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
func (r *run) measure(ctx context.Context, sandbox *scenario.Running) {
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
	r.set(phaseStart, r.kind.countsOf(start))
	r.set(phaseSteady, perMinute(r.kind.countsOf(since(start, now)), window))
}

// exitAtLast adds the check of the exit to the report; on a new sandbox if none was fit for it.
func (r *run) exitAtLast(ctx context.Context) {
	if r.side.ended != nil {
		r.side.add(*r.side.ended, r.kind.exits, false)
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
	r.side.add(s, r.kind.exits, false)
}

func (r *run) bootFor(ctx context.Context, need scenario.Requirements) (*scenario.Running, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	began := time.Now()
	sandbox, err := r.o.Boot(ctx, r.side.program, need)
	boot := result.Boot{Topology: need.Topology.Metadata.Name, Began: began, Took: time.Since(began)}
	if err != nil {
		boot.Error = err.Error()
	} else {
		boot.Name = sandbox.Name
	}
	r.report.Suite.Boots = append(r.report.Suite.Boots, boot)
	return sandbox, err
}
