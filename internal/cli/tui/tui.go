package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/logs"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/replay"
)

type options struct {
	*command.Deps

	look   DisplayFlags
	replay string
	speed  float64
	still  still
	print  bool
}

// NewCmdTUI returns the command; runF, when not nil, runs in its place.
func NewCmdTUI(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{Deps: d}
	runF = command.Or(runF, run)
	cmd := &cobra.Command{
		Use:   "tui",
		Short: "Open the terminal UI",
		Long: `Open the terminal UI of a sandbox. It shows VMs and nodes side by side, events
and their causes, and has keys to inject faults.

Six screens: overview of VMs and nodes, timeline of causes and effects, volumes,
faults, vCenter API calls, and the running scenario. "?" shows the keys, ":"
takes commands, "q" quits; the sandbox keeps running.

With --replay, it plays a recording that "events export" wrote. With --print, it
writes one frame of the recording as text.`,
		Example: `  vsphere-sandbox tui
  vsphere-sandbox tui --name lab --read-only
  vsphere-sandbox tui --replay run.jsonl --speed 4
  vsphere-sandbox tui --replay run.jsonl --print --at 30s --keys '2 j enter' --size 100x30`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.complete(cmd.Flags().Changed); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
	}
	o.look.Bind(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.look.ReadOnly, "read-only", false, "refuse all changes until ctrl+r")
	f.StringVar(&o.replay, "replay", "", "play the recording `FILE` instead of showing a sandbox; - is standard input")
	f.Float64Var(&o.speed, "speed", 1, "playback speed of the recording")
	f.BoolVar(&o.print, "print", false, "print one frame of the recording and exit")
	f.DurationVar(&o.still.at, "at", -1, "time of the frame after the start of the recording (default: the end)")
	f.Lookup("at").DefValue = "0s" // which help leaves out
	f.StringVar(&o.still.size, "size", "100x30", "size of the frame, `COLUMNSxLINES`")
	f.StringVar(&o.still.keys, "keys", "", "keys to press before the frame, separated by spaces: '2 j enter'")
	return cmd
}

// complete checks what can be checked before anything is touched.
func (o *options) complete(set func(flag string) bool) error {
	if err := o.look.Complete(o.Getenv); err != nil {
		return err
	}
	if o.replay == "" {
		for _, name := range []string{"speed", "print", "at", "size", "keys"} {
			if set(name) {
				return report.UsageError(command.Program+" tui --replay FILE --"+name, "--%s is for recordings", name)
			}
		}
		return nil
	}
	if !(o.speed > 0) {
		return report.UsageError("--speed 4", "--speed %g: want more than 0", o.speed)
	}
	if !o.print {
		for _, name := range []string{"at", "size", "keys"} {
			if set(name) {
				return report.UsageError(command.Program+" tui --replay FILE --print --"+name, "--%s is for --print", name)
			}
		}
		return nil
	}
	return o.still.complete()
}

// DisplayFlags is how the UI looks, for the commands that open it.
type DisplayFlags struct {
	theme    string
	mouse    bool
	ReadOnly bool
}

// Bind adds the flags.
func (l *DisplayFlags) Bind(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&l.theme, "theme", "auto", "colors: "+strings.Join(themes(), ", "))
	f.BoolVar(&l.mouse, "mouse", false, "use the mouse; the terminal cannot select text then")
	// Cannot fail: the flag was added in the lines above.
	_ = cmd.RegisterFlagCompletionFunc("theme", cobra.FixedCompletions(themes(), cobra.ShellCompDirectiveNoFileComp))
}

func themes() []string { return []string{"auto", "dark", "light", "mono"} }

// Complete checks the flags.
func (l *DisplayFlags) Complete(getenv func(string) string) error {
	if !slices.Contains(themes(), l.theme) {
		try := "--theme " + strings.Join(themes(), "|")
		if guess := nearest.Of(l.theme, themes()); guess != "" {
			try = "--theme " + guess
		}
		return report.UsageError(try, "theme %q not found", l.theme)
	}
	if l.theme == "auto" {
		l.theme = ""
		if getenv("NO_COLOR") != "" {
			l.theme = "mono"
		}
	}
	return nil
}

// Options are the UI's, as far as the look says them.
func (l *DisplayFlags) Options(d *command.Deps) tui.Options {
	return tui.Options{Theme: l.theme, Mouse: l.mouse, ReadOnly: l.ReadOnly, Now: d.Now, Input: d.Streams.In, Output: d.Streams.Out}
}

// still says which frame is written.
type still struct {
	at            time.Duration
	size          string
	keys          string
	width, height int
}

func (s *still) complete() error {
	var rest string
	if n, _ := fmt.Sscanf(s.size, "%dx%d%s", &s.width, &s.height, &rest); n != 2 || s.width < 1 || s.height < 1 || s.width > 1000 || s.height > 1000 {
		return report.UsageError("--size 100x30", "--size %q is not COLUMNSxLINES", s.size)
	}
	return nil
}

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
		return Explain(err, "the sandbox keeps running", program(o.Deps)+" tui")
	}
	WarnLeases(o.Deps, outcome)
	return nil
}

// Terminal returns why the UI cannot be opened here, or nil.
func Terminal(d *command.Deps) error {
	switch {
	case !d.Streams.OutTTY() || !d.Streams.InTTY():
		return &report.Error{
			Code: "no-terminal", Message: "the UI needs a terminal to read keys from and to draw on", Exit: report.Prerequisite,
			Try: command.Program + " get nodes\n" + command.Program + " events -f",
		}
	case d.Getenv("TERM") == "dumb":
		return &report.Error{
			Code: "no-terminal", Message: "the terminal does not support cursor movement (TERM=dumb)", Exit: report.Prerequisite,
			Try: "export TERM=xterm-256color   # if it supports that",
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

// Explain turns an error of the UI into one for the user: what became of the sandbox, and what to try next.
func Explain(err error, became, try string) error {
	if errors.Is(err, tui.ErrCrashed) {
		return &report.Error{
			Code: "tui-crashed", Message: "the terminal UI crashed; " + became, Err: err,
			Try: try + "\nand report it, with the output above",
		}
	}
	return err
}

// WarnLeases says that what was broken still is.
func WarnLeases(d *command.Deps, o tui.Outcome) {
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
	frame, err := tui.RenderFrame(opts, o.still.width, o.still.height, at, o.still.keys)
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

// lines is a writer that hands on whole lines.
type lines struct {
	f    func([]string)
	rest string
}

// Write implements [io.Writer].
func (l *lines) Write(b []byte) (int, error) {
	all := strings.Split(l.rest+string(b), "\n")
	l.rest = all[len(all)-1]
	if all = all[:len(all)-1]; len(all) > 0 {
		l.f(all)
	}
	return len(b), nil
}
