package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

// Find returns the sandbox the command is about, dead or alive: the one asked for by name; else the only one that runs;
// else the one named default.
func (d *Deps) Find(ctx context.Context) (Sandbox, error) {
	all, err := d.Sandboxes.List(ctx)
	if err != nil {
		return Sandbox{}, err
	}
	name, asked := d.Name()
	var running []string
	var only Sandbox
	for _, s := range all {
		if s.Name == name && (asked || s.Running) {
			return s, nil
		}
		if s.Running {
			running = append(running, s.Name)
			only = s
		}
	}
	switch {
	case asked:
		return Sandbox{}, unknown(name, all)
	case len(running) == 1:
		return only, nil
	case len(running) > 1:
		return Sandbox{}, &report.Error{
			Code:    "ambiguous",
			Message: fmt.Sprintf("several sandboxes run: %s", strings.Join(running, ", ")),
			Try:     fmt.Sprintf("name one: --name %s, or export %s=%[1]s", running[0], NameEnv),
			Exit:    report.Usage,
		}
	}
	for _, s := range all {
		if s.Name == name {
			return s, nil
		}
	}
	none := &report.Error{Code: "no-sandbox", Message: "no sandbox is running", Try: Program + " up"}
	for _, s := range all {
		if s.State() == Crashed {
			none.Try = fmt.Sprintf("%s status --name %s   # which crashed\n%s", Program, s.Name, none.Try)
		}
	}
	return Sandbox{}, none
}

// FindRunning is [Deps.Find] for commands that must talk to the sandbox.
func (d *Deps) FindRunning(ctx context.Context) (Sandbox, error) {
	s, err := d.Find(ctx)
	if err == nil && !s.Running {
		return s, s.NotRunning(report.Failure)
	}
	return s, err
}

// NotRunning is the error that a sandbox does not run: how it ended, where what it left is, and how that is looked at and removed.
// exit is the exit status.
func (s Sandbox) NotRunning(exit int) error {
	down := fmt.Sprintf("%s down --name %s   # removes what it left", Program, s.Name)
	logs := fmt.Sprintf("%s logs --name %s", Program, s.Name)
	switch s.Ended {
	case Retained:
		return &report.Error{Code: Retained, Message: fmt.Sprintf("sandbox %q has ended, and its files are kept in %s", s.Name, s.Dir), Try: logs + "\n" + down, Exit: exit}
	case Left:
		return &report.Error{Code: Left, Message: fmt.Sprintf("sandbox %q has ended, and could not remove everything that it created", s.Name), Try: down, Exit: exit}
	}
	e := &report.Error{
		Code: Crashed, Message: fmt.Sprintf("sandbox %q crashed, and its logs, events and recording are kept in %s", s.Name, s.Dir),
		Try: fmt.Sprintf("%s\n%s doctor --bundle vsphere-sandbox-bug.tar.gz --name %s\n%s", logs, Program, s.Name, down), Exit: exit,
	}
	if s.Crash != nil {
		e.Err = errors.New(s.Crash.Words())
	}
	return e
}

func unknown(name string, all []Sandbox) error {
	e := &report.Error{
		Code:    "no-sandbox",
		Message: fmt.Sprintf("there is no sandbox %q", name),
		Try:     fmt.Sprintf("%s up --name %s", Program, name),
	}
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	if guess := nearest.Of(name, names); guess != "" {
		e.Try = "--name " + guess
	}
	return e
}
