package smoke

import (
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
	cliccm "github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/limits"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/stage"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/smoke"
)

// settings are what both commands are told.
type settings struct {
	*command.Deps
	// load finds the scenarios of a suite.
	load func(suite string) ([]*scenario.Scenario, error)
	// checks names the checks that scenarios make.
	checks func([]*scenario.Scenario) []string

	suite     string
	only      []string
	speed     float64
	seed      uint64
	patience  float64
	artifacts string
	strict    bool
	limits    limits.Flags

	scenarios []*scenario.Scenario
}

// fullSuite is the suite that all scenarios are in.
const fullSuite = "full"

func newSettings(d *command.Deps, checks func([]*scenario.Scenario) []string) settings {
	return settings{Deps: d, load: smoke.Suite, checks: checks}
}

// bind adds the flags.
func (s *settings) bind(cmd *cobra.Command) {
	s.limits.Bind(cmd)
	s.limits.BindPort(cmd)
	f := cmd.Flags()
	f.StringVar(&s.suite, "suite", "core", "the scenarios: those of the `SUITE` core, or all: full")
	f.StringSliceVar(&s.only, "only", nil, "make only the checks of these `NAMES`, as they stand in the table; * and ? are wildcards")
	f.Float64Var(&s.speed, "speed", float64(pace.Default), "how many times faster than upstream's defaults leases, monitors and time-outs run; 1 is real time")
	f.Uint64Var(&s.seed, "seed", 1, "what draws targets; the same seed draws the same")
	f.Float64Var(&s.patience, "patience", 1, "what every time limit is multiplied with, for slow machines")
	f.StringVar(&s.artifacts, "artifacts", "", "leave results, logs and a report in `DIR`, as TestGrid reads it")
	f.BoolVar(&s.strict, "strict", false, "have failures count that are known")
	// Cannot fail: the flags were added in the lines above.
	_ = cmd.RegisterFlagCompletionFunc("suite", cobra.FixedCompletions(smoke.Suites(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("only", complete.Flag(s.completeOnly))
	_ = cmd.MarkFlagDirname("artifacts")
}

// complete checks what can be checked before anything is touched.
func (s *settings) complete(sources ...string) error {
	for _, text := range sources {
		if _, err := ccm.Parse(text); err != nil {
			return cliccm.Explain(err)
		}
	}
	if err := pace.Speed(s.speed).Validate(); err != nil {
		return report.UsageError("--speed 10", "--speed: %v", err)
	}
	if !(s.patience > 0) || s.patience > 100 {
		return report.UsageError("--patience 3", "--patience %g: want a number from 0 to 100, and not 0", s.patience)
	}
	if s.seed == 0 {
		return report.UsageError("--seed 1", "--seed 0: want a number from 1")
	}
	if !slices.Contains(smoke.Suites(), s.suite) {
		try := "--suite core"
		if near := nearest.Of(s.suite, smoke.Suites()); near != "" {
			try = "--suite " + near
		}
		return report.UsageError(try, "--suite %q: want core or full", s.suite)
	}
	if err := s.limits.Check(); err != nil {
		return err
	}
	var err error
	if s.scenarios, err = s.load(s.suite); err != nil {
		return err
	}
	return s.checkOnly()
}

// sandboxName is what sandboxes of the run are called.
func (s *settings) sandboxName(kind string) (string, error) {
	asked, given := s.Name()
	if !given {
		asked = ""
	}
	name, err := stage.NameOf(asked, kind, os.Getpid())
	if err != nil {
		return "", report.UsageError("--name lab", "%v", err)
	}
	return name, nil
}
