package tui

import (
	"context"
	"errors"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/logs"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/replay"
)

func run(ctx context.Context, o *options) error {
	if o.replay != "" {
		return play(ctx, o)
	}
	if err := Terminal(o.Deps); err != nil {
		return err
	}
	t, err := o.Connect(ctx)
	if err != nil {
		return err
	}
	opts := o.look.Options(o.Deps)
	Attach(o.Deps, &opts, t)
	outcome, err := tui.Run(ctx, opts)
	if err != nil {
		return Explain(err, "the sandbox goes on", program(o.Deps)+" tui")
	}
	TellLeases(o.Deps, outcome)
	return nil
}

// Terminal tells why the UI cannot be opened here, if so.
func Terminal(d *command.Deps) error {
	switch {
	case !d.Streams.OutTTY() || !d.Streams.InTTY():
		return &report.Error{
			Code: "no-terminal", Message: "the UI needs a terminal to read keys from and to draw on", Exit: report.Prerequisite,
			Try: command.Program + " get nodes\n" + command.Program + " events -f",
		}
	case d.Getenv("TERM") == "dumb":
		return &report.Error{
			Code: "no-terminal", Message: "this terminal (TERM=dumb) cannot be drawn on", Exit: report.Prerequisite,
			Try: "export TERM=xterm-256color, if it can after all",
		}
	}
	return nil
}

// Attach has the UI show a sandbox that runs.
func Attach(d *command.Deps, o *tui.Options, t *command.Target) {
	o.Sandbox = t.Client
	if _, asked := d.Name(); asked {
		o.Name = t.Name
	}
	o.Logs = func(ctx context.Context, component string, f func([]string)) error {
		files, err := d.Sandboxes.Logs(t.Name)
		if err != nil {
			return err
		}
		return logs.Follow(ctx, &lines{f: f}, files, component, logLines)
	}
}

// logLines is how many lines of a log are shown of what was there before.
const logLines = 1000

// Explain tells what an error of the UI means: what became of the sandbox, and what to try next.
func Explain(err error, became, try string) error {
	if errors.Is(err, tui.ErrCrashed) {
		return &report.Error{
			Code: "tui-crashed", Message: "the terminal UI crashed; " + became, Err: err,
			Try: try + "\nand please report it, with what is written above",
		}
	}
	return err
}

// TellLeases says that what was broken still is.
func TellLeases(d *command.Deps, o tui.Outcome) {
	if o.Leases == 0 {
		return
	}
	what := "faults are"
	if o.Leases == 1 {
		what = "fault is"
	}
	fmt.Fprintf(d.Streams.Err, "%d %s still injected; to heal: %s fault heal --all\n", o.Leases, what, program(d))
}

// program is how commands for the same sandbox begin.
func program(d *command.Deps) string {
	if name, asked := d.Name(); asked {
		return command.Program + " --name " + name
	}
	return command.Program
}

// play plays a recording, or writes a frame of it.
func play(ctx context.Context, o *options) error {
	if !o.print {
		if err := Terminal(o.Deps); err != nil {
			return err
		}
	}
	p, err := open(o)
	if err != nil {
		return err
	}
	opts := o.look.Options(o.Deps)
	opts.Player, opts.PlaySpeed = p, o.speed
	if !o.print {
		_, err := tui.Run(ctx, opts)
		return Explain(err, "the recording is as it was", command.Program+" tui --replay "+o.replay)
	}
	at := o.still.at
	if at < 0 {
		at = p.Len()
	}
	frame, err := tui.Still(opts, o.still.width, o.still.height, at, o.still.keys)
	if err != nil {
		return report.UsageError("--keys '2 j enter'", "--keys: %v", err)
	}
	_, err = fmt.Fprintln(o.Streams.Out, frame)
	return err
}

func open(o *options) (*replay.Player, error) {
	var p *replay.Player
	var err error
	if o.replay == "-" {
		p, err = replay.Read("standard input", o.Streams.In)
	} else {
		p, err = replay.Open(o.replay)
	}
	if err != nil {
		return nil, &report.Error{
			Code: "no-recording", Message: "the recording cannot be played", Err: err,
			Try: command.Program + " events export FILE   # records a sandbox that runs",
		}
	}
	return p, nil
}

// sandboxAPI keeps the client what the UI needs.
var _ tui.Sandbox = (*api.Client)(nil)
