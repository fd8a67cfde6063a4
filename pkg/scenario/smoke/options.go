package smoke

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/glob"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/installed"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// Options configure a smoke test. Program, Suite and Boot are required.
type Options struct {
	// Program is what is judged.
	Program Program
	// Baseline is the release before, for the upgrade; nil skips it.
	Baseline *Program
	// Suite are the scenarios.
	Suite []*scenario.Scenario
	// Only are patterns of checks, as in [Chosen]; empty for all.
	Only []string
	// Boot starts a sandbox with a program.
	Boot func(ctx context.Context, c Program, need scenario.Requirements) (*scenario.Running, error)
	// Version runs the program with --version and returns its output.
	Version func(ctx context.Context, c Program) (string, error)
	// Pods means that the program runs as pods of the cluster: the checks that signal or exchange its process are skipped.
	Pods bool
	// Installed returns how a program is installed: the sandboxes run it so. It returns nil for one that runs as a bare process.
	// Optional.
	Installed func(Program) *installed.Installation
	// Requests returns what the account of an installation asked the API server of a running sandbox for. Required with Installed.
	Requests func(context.Context, *scenario.Running, *installed.Installation) ([]installed.Request, error)
	// Sanity runs the sanity suite of CSI against the driver of a running sandbox. Required to judge a CSI driver, unless NoSanity says
	// why it cannot run, or Pods is set.
	Sanity   func(context.Context, *scenario.Running) (Sanity, error)
	NoSanity string
	// Unhealthy reports whether an error of Boot is that of a program that does not become healthy.
	Unhealthy func(error) bool
	// Strict counts known failures.
	Strict bool
	// Speed is the speed of sandboxes whose scenario has none.
	Speed float64
	// Observe gets the changes, Say lines of text, Busy the current activity. Optional.
	Observe  func(result.Update)
	Progress func(format string, args ...any)
	Busy     func(text string)
	// Seed and Patience are those of [scenario.Options].
	Seed     uint64
	Patience float64

	// terminate sends a process the signal to end; tests replace it.
	terminate func(pid int) error
	// refuse makes a boot fail, in tests.
	refuse func(Program) error
}

func (o Options) withDefaults() Options {
	if o.Observe == nil {
		o.Observe = func(result.Update) {}
	}
	if o.Progress == nil {
		o.Progress = func(string, ...any) {}
	}
	if o.Busy == nil {
		o.Busy = func(string) {}
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	if !(o.Patience > 0) {
		o.Patience = 1
	}
	if !(o.Speed > 0) {
		o.Speed = 1
	}
	if o.terminate == nil {
		o.terminate = terminate
	}
	return o
}

func terminate(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Signal(syscall.SIGTERM)
}

// theme is the folder of the catalogue with the scenarios of this package.
const theme = "smoke"

// Suites are the names for [Suite].
func Suites() []string { return []string{"core", "full"} }

// Suite returns the scenarios of a suite of the catalogue: core has those with that label, full all.
func Suite(name string) ([]*scenario.Scenario, error) {
	all, err := scenario.Catalogue()
	if err != nil {
		return nil, err
	}
	chosen := slices.DeleteFunc(all, func(s *scenario.Scenario) bool {
		suites := strings.FieldsFunc(s.Metadata.Labels["suite"], func(r rune) bool { return r == ',' || r == ' ' })
		return s.Theme == theme || name != "full" && !slices.Contains(suites, name)
	})
	if len(chosen) == 0 {
		return nil, fmt.Errorf("suite %q: there is no scenario in it", name)
	}
	return chosen, nil
}

// Phase is an episode in the life of a program, with its calls to the vCenters during it.
type Phase struct {
	Name string
	// Text describes it.
	Text string
	// Release are the calls of what is judged, Baseline those of the baseline; nil if not measured.
	Release, Baseline []Count
}

// Count is the number of calls of one method by one client, at all vCenters.
type Count struct {
	Client string `json:"client"` // User-Agent
	Method string `json:"method"`
	Calls  uint64 `json:"calls"`
	Errors uint64 `json:"errors,omitempty"`
}

// set sets the calls of a phase.
func (r *run) set(name string, counts []Count) {
	for i := range r.report.Phases {
		p := &r.report.Phases[i]
		switch {
		case p.Name != name:
		case r.side.baseline:
			p.Baseline = counts
		default:
			p.Release = counts
		}
	}
}

// Total returns the sum.
func Total(counts []Count) (calls uint64) {
	for _, c := range counts {
		calls += c.Calls
	}
	return calls
}

// countsOf returns the calls of the clients of a kind, most first.
func (k *kind) countsOf(calls []api.Calls) []Count {
	type key struct{ client, method string }
	sums := map[key]Count{}
	for _, c := range calls {
		if c.Calls == 0 || !expect.Match(expect.Agent(k.agent), c.Client) {
			continue
		}
		k := key{c.Client, c.Method}
		one := sums[k]
		sums[k] = Count{c.Client, c.Method, one.Calls + c.Calls, one.Errors + c.Errors}
	}
	list := []Count{} // measured, if there were none
	for _, c := range sums {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Client, b.Client))
	})
	return list
}

// since returns the calls between two readings. A restarted vCenter counts from 0.
func since(before, now []api.Calls) []api.Calls {
	type key struct{ vcenter, client, method string }
	was := map[key]api.Calls{}
	for _, c := range before {
		was[key{c.VCenter, c.Client, c.Method}] = c
	}
	var made []api.Calls
	for _, c := range now {
		if old := was[key{c.VCenter, c.Client, c.Method}]; old.Calls <= c.Calls {
			c.Calls -= old.Calls
			c.Errors -= min(old.Errors, c.Errors)
		}
		if c.Calls > 0 {
			made = append(made, c)
		}
	}
	return made
}

// perMinute scales counts to a minute.
func perMinute(counts []Count, in time.Duration) []Count {
	scale := func(n uint64) uint64 { return uint64(float64(n)*float64(time.Minute)/float64(in) + 0.5) }
	scaled := slices.Clone(counts)
	for i := range scaled {
		scaled[i].Calls, scaled[i].Errors = scale(scaled[i].Calls), scale(scaled[i].Errors)
	}
	return scaled
}

// Checks returns the names of the checks of [Run] for a cloud controller manager with a suite, in their order. [Options.Only]
// matches them.
func Checks(suite []*scenario.Scenario) []string {
	return slices.Concat([]string{versionCheck, installationCheck, manager().upgrade}, manager().counted(), Names(manager().suite(suite)), []string{manager().leader, exitCheck, rightsCheck})
}

// DriverChecks is [Checks] for a CSI driver.
func DriverChecks(suite []*scenario.Scenario) []string {
	return slices.Concat([]string{versionCheck, driver().upgrade}, driver().counted(), Names(driver().suite(suite)), []string{driver().leader, sanityCheck, exitCheck})
}

// Names returns the names of scenarios for tables: with their theme.
func Names(list []*scenario.Scenario) []string {
	var names []string
	for _, s := range list {
		names = append(names, name(&result.Scenario{Name: s.Metadata.Name, Theme: s.Theme}))
	}
	return names
}

// Chosen reports whether a pattern matches a check, by its name or the part after the theme. No patterns match all.
func Chosen(patterns []string, check string) bool {
	if len(patterns) == 0 {
		return true
	}
	return slices.ContainsFunc(patterns, func(p string) bool {
		return glob.Match(p, check) || glob.Match(p, check[strings.LastIndexByte(check, '/')+1:])
	})
}

// Pick returns the scenarios that match a pattern, in their order.
func Pick(patterns []string, list []*scenario.Scenario) []*scenario.Scenario {
	var picked []*scenario.Scenario
	for i, name := range Names(list) {
		if Chosen(patterns, name) {
			picked = append(picked, list[i])
		}
	}
	return picked
}
