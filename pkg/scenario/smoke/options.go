package smoke

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// Options say what is judged, and how. CCM, Suite and Boot are required.
type Options struct {
	CCM CCM
	// Baseline is the release before, from which it has to take over; nil: that is skipped.
	Baseline *CCM
	// Suite are the scenarios.
	Suite []*scenario.Scenario
	// Only are patterns of the checks to make, as [Chosen] takes them; none are for all.
	Only []string
	// Boot starts a sandbox with a cloud controller manager.
	Boot func(ctx context.Context, c CCM, need scenario.Requirements) (*scenario.Running, error)
	// Version runs the program with --version and returns what it writes.
	Version func(ctx context.Context, c CCM) (string, error)
	// Strict has failures count that are known.
	Strict bool
	// Speed is how much faster than real time sandboxes are that no scenario gives a speed.
	Speed float64
	// Observe is told what happens, Say lines beside, Busy what is being done. Optional.
	Observe func(result.Update)
	Say     func(format string, args ...any)
	Busy    func(text string)
	// Seed and Patience are those of [scenario.Options].
	Seed     uint64
	Patience float64

	// terminate sends a process the signal to end; in tests something else does.
	terminate func(pid int) error
}

func (o Options) withDefaults() Options {
	if o.Observe == nil {
		o.Observe = func(result.Update) {}
	}
	if o.Say == nil {
		o.Say = func(string, ...any) {}
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

// theme is the folder of the catalogue whose scenarios are for this package.
const theme = "smoke"

// Suites are the names that [Suite] knows.
func Suites() []string { return []string{"core", "full"} }

// Suite returns the scenarios of a suite of the catalogue: core are those with that label, full are all.
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
