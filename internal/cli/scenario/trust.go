package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/confirm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
)

// errDistrusted says that a person was asked and did not trust the scenarios. It was printed.
var errDistrusted = errors.New("not trusted; nothing was done")

// trusted returns nil when the scenarios may be run: with --trust, when none of them does more than inject faults and read
// its sandbox, or when the person at the terminal says so.
func (o *runOptions) trusted(ctx context.Context) error {
	if o.trust {
		return nil
	}
	var lines []string
	for _, s := range o.scenarios {
		for _, r := range o.reaches(s) {
			lines = append(lines, s.File+":"+r.String())
		}
	}
	if len(lines) == 0 {
		return nil
	}
	if !o.Streams.Interactive() {
		return &report.Error{
			Code: "scenario-untrusted", Exit: report.Usage, Try: o.again() + "   # once you have read them",
			Message: "scenarios that do not come with the program reach beyond faults in their sandbox, and nothing was done\n" + strings.Join(lines, "\n"),
		}
	}
	fmt.Fprintf(o.Streams.Err, "%s\n", printable.Lines(strings.Join(lines, "\n")))
	switch ok, err := o.Streams.Confirm(ctx, "This reaches beyond faults in a sandbox. Do you trust it?"); {
	case err != nil:
		return err
	case !ok:
		fmt.Fprintln(o.Streams.Err, "nothing was done")
		return errDistrusted
	}
	return nil
}

// reaches are those of a scenario that count for this run. A sandbox that is up has its components already, and what the
// command line names is run in place of what the scenario does.
func (o *runOptions) reaches(s *scenario.Scenario) []scenario.Reach {
	return slices.DeleteFunc(s.Reaches(), func(r scenario.Reach) bool {
		return o.on != "" && r.OfComponents() || r.Path == "components.ccm.source" && (o.ccm.Source != "" || o.ccm.Watch != "")
	})
}

// again is the command with --trust.
func (o *runOptions) again() string {
	words := []string{command.Program, "scenario", "run"}
	switch {
	case o.choice.suite != "":
		words = append(words, "--suite", o.choice.suite)
	case o.choice.all:
		words = append(words, "--all")
	}
	words = append(words, o.choice.words...)
	if o.on != "" {
		words = append(words, "--on", o.on)
	}
	return shellescape.QuoteCommand(append(words, "--trust"))
}

// allowed is a sandbox that is up, for scenarios to run on. Where their faults may change VMs of real vCenters, a person
// confirms it once, for all of them.
func (o *runOptions) allowed(ctx context.Context, t *command.Target, status api.Status) (scenario.Sandbox, error) {
	if status.Ground.Real() != api.RealWritable {
		return t.Client, nil
	}
	_, err := confirm.Do(ctx, o.Streams, o.asking, func(consent confirm.Consent) (bool, error) {
		if consent.Given {
			return true, nil
		}
		return false, &api.Error{
			Code: "unconfirmed", Try: "the same with --yes",
			Message: fmt.Sprintf("sandbox %q stands on real vCenters: faults of scenarios change VMs in its write scope, and are taken back when they are healed", t.Name),
		}
	})
	if errors.Is(err, confirm.ErrDeclined) {
		return nil, report.Exit(report.Failure) // it was printed, and nothing ran
	}
	return confirmed{t.Client}, err
}

// confirmed injects what was confirmed beforehand.
type confirmed struct{ *api.Client }

// Inject implements [scenario.Sandbox].
func (c confirmed) Inject(ctx context.Context, r api.InjectRequest) (api.Lease, error) {
	r.Confirmed = true
	return c.Client.Inject(ctx, r)
}
