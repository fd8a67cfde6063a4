package command

import (
	"context"
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
	return Sandbox{}, &report.Error{Code: "no-sandbox", Message: "no sandbox is running", Try: Program + " up"}
}

// FindRunning is [Deps.Find] for commands that must talk to the sandbox.
func (d *Deps) FindRunning(ctx context.Context) (Sandbox, error) {
	s, err := d.Find(ctx)
	if err == nil && !s.Running {
		return s, &report.Error{
			Code:    "not-running",
			Message: fmt.Sprintf("sandbox %q is not running: it was killed, or crashed", s.Name),
			Try:     fmt.Sprintf("%s logs --name %s\n%[1]s up --name %[2]s", Program, s.Name),
		}
	}
	return s, err
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
