package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Program is what users type.
const Program = "vsphere-sandbox"

// NameEnv is the environment variable that stands in for --name.
const NameEnv = "VSPHERE_SANDBOX_NAME"

// DefaultName is the name of a sandbox that was given none.
const DefaultName = "default"

// Deps is what every command is handed. One value is made per process, by the root command; commands only read it. All
// fields but Release are required.
type Deps struct {
	Streams   *iostreams.Streams
	Sandboxes Sandboxes
	Getenv    func(string) string
	Now       func() time.Time
	// Self is the path of this program, for the commands that run it again.
	Self string
	// Release gives Ctrl-C and TERM their ordinary effect back, for commands that hand the process over to a program
	// that knows nothing of our context. Nil does nothing.
	Release func()

	// NameFlag is the value of --name. Use [Deps.Name] or [Deps.Find].
	NameFlag string
}

// Sandboxes is what there is under the state directory.
type Sandboxes interface {
	// List returns every sandbox that left a trace there, by name.
	List(ctx context.Context) ([]Sandbox, error)
	// Root is the state directory; it need not exist.
	Root() (string, error)
	// Logs returns the log files of a sandbox, running or dead, by component.
	Logs(name string) (map[string]string, error)
	// ReapProcesses ends the processes that crashed sandboxes left, keeps their files, and returns a sentence about each; it says
	// nothing about those that it settled before.
	ReapProcesses(ctx context.Context) ([]string, error)
	// Reap removes what dead sandboxes left behind and returns what that was, one line each.
	Reap(ctx context.Context) ([]string, error)
}

// The states of a sandbox, as its directory shows them.
const (
	Running  = "running"
	Crashed  = "crashed"     // its process died; its files are kept
	Retained = "retained"    // it has ended, and was asked to keep its files
	Left     = "left-behind" // it has ended, and could not take back all that it had elsewhere
)

// Crash is what ended a sandbox that crashed.
type Crash struct {
	// Reason is how its log ends: the first lines of a panic, of a fatal error or of the signal that ended it; or that it was
	// killed, which leaves no line.
	Reason string `json:"reason"`
	// Stack has the top frames of the goroutine that it was in, "function (file:line)"; none where it was killed.
	Stack []string `json:"stack,omitempty"`
}

// Text are the reason and the stack, a frame a line.
func (c *Crash) Text() string {
	return strings.Join(append([]string{c.Reason}, c.Stack...), "\n    at ")
}

// Sandbox is one sandbox as its directory describes it, without a request to it.
type Sandbox struct {
	Name string
	// Dir holds everything of it.
	Dir string
	// Socket is where it listens.
	Socket string
	// Running says that its process lives.
	Running bool
	// Removed says that it runs although its directory was removed. It notices that and ends.
	Removed bool
	// Ended is Retained or Left for one that has ended and whose directory is there all the same. One that does not run, and
	// has none of these, crashed: one that ends well leaves nothing behind.
	Ended string
	// Crash is what ended it; nil unless it crashed.
	Crash *Crash
	// PID, StartedAt and Topology are zero when not known.
	PID       int
	StartedAt time.Time
	Topology  string
}

// State is Running, Crashed, Retained or Left.
func (s Sandbox) State() string {
	switch {
	case s.Running:
		return Running
	case s.Ended != "":
		return s.Ended
	}
	return Crashed
}

// Name returns the sandbox's name from the flag or environment, or the default; asked is false for the default.
func (d *Deps) Name() (name string, asked bool) {
	if d.NameFlag != "" {
		return d.NameFlag, true
	}
	if name := d.Getenv(NameEnv); name != "" {
		return name, true
	}
	return DefaultName, false
}

// Typed is what a person types to call the program again that was called as arg0: the path, if it was a path, for it may not
// be in the shell's.
func Typed(arg0 string) string {
	if strings.ContainsRune(arg0, filepath.Separator) && filepath.Base(arg0) == Program {
		return arg0
	}
	return Program
}

// words are the beginnings of commands of the program in a text.
var words = regexp.MustCompile(`(?m)(^|[\s(])` + Program + ` `)

// AsTyped returns a text, such as advice, with the program as a person types it who called it as arg0.
func AsTyped(text, arg0 string) string {
	if typed := Typed(arg0); typed != Program {
		return words.ReplaceAllStringFunc(text, func(found string) string { return strings.Replace(found, Program, typed, 1) })
	}
	return text
}

// Group makes cmd one that only has commands below it: alone it prints its help, and a word that is none of them is a
// usage error with a guess.
func Group(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(children...)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return UnknownCommand(cmd, args[0])
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// UnknownCommand is the error for a word that is no command of cmd's.
func UnknownCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(append(names, c.Name()), c.Aliases...)
		}
	}
	try := cmd.CommandPath() + " --help"
	if guess := nearest.Of(word, names); guess != "" {
		try = cmd.CommandPath() + " " + guess
	}
	return report.UsageError(try, "unknown command %q", cmd.CommandPath()+" "+word)
}

// NoArgs refuses arguments.
func NoArgs(cmd *cobra.Command, args []string) error { return count(cmd, args, 0, 0, "") }

// AtLeastOne wants one argument or more; what names it, in capitals.
func AtLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return count(cmd, args, 1, -1, what) }
}

// ExactlyOne wants one argument; what names it, in capitals.
func ExactlyOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return count(cmd, args, 1, 1, what) }
}

// AtMostOne wants one argument or none.
func AtMostOne(cmd *cobra.Command, args []string) error { return count(cmd, args, 0, 1, "") }

// count checks the number of arguments; most < 0 means any number.
func count(cmd *cobra.Command, args []string, least, most int, what string) error {
	try := cmd.CommandPath() + " --help"
	switch {
	case len(args) < least:
		return report.UsageError(try, "%s needs a %s", cmd.CommandPath(), what)
	case most >= 0 && len(args) > most:
		return report.UsageError(try, "%s: unexpected argument %q", cmd.CommandPath(), args[most])
	}
	return nil
}

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
		e.Err = errors.New(s.Crash.Text())
	}
	return e
}

func unknown(name string, all []Sandbox) error {
	e := &report.Error{
		Code:    "no-sandbox",
		Message: fmt.Sprintf("sandbox %q not found", name),
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

const (
	// AnswerTime is how long a sandbox may take to answer a question.
	AnswerTime = 15 * time.Second
	// DoTime is how long it may take to do something: a vCenter may be slow on purpose.
	DoTime = 2 * time.Minute
)

// Target is a running sandbox with a client that talks to it.
type Target struct {
	Sandbox
	Client *api.Client
}

// Connect finds the sandbox the command is about, which must be running.
func (d *Deps) Connect(ctx context.Context) (*Target, error) {
	s, err := d.FindRunning(ctx)
	if err != nil {
		return nil, err
	}
	return &Target{Sandbox: s, Client: api.NewClient(s.Socket)}, nil
}

// Ask sends one request to a sandbox, within [AnswerTime], and explains why it got no answer.
func Ask[T any](ctx context.Context, t *Target, question func(*api.Client, context.Context) (T, error)) (T, error) {
	return within(ctx, t, AnswerTime, question)
}

// Do has a sandbox do something, within [DoTime]; otherwise it is like [Ask].
func Do[T any](ctx context.Context, t *Target, deed func(*api.Client, context.Context) (T, error)) (T, error) {
	return within(ctx, t, DoTime, deed)
}

// AskIt is [Deps.Connect] and [Ask] in one.
func AskIt[T any](ctx context.Context, d *Deps, question func(*api.Client, context.Context) (T, error)) (T, error) {
	t, err := d.Connect(ctx)
	if err != nil {
		var none T
		return none, err
	}
	return Ask(ctx, t, question)
}

func within[T any](ctx context.Context, t *Target, limit time.Duration, f func(*api.Client, context.Context) (T, error)) (T, error) {
	inner, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	inner, end := t.whileRunning(inner)
	defer end()
	v, err := f(t.Client, inner)
	if stopped := (*report.Error)(nil); err != nil && ctx.Err() == nil && errors.As(context.Cause(inner), &stopped) {
		return v, stopped
	}
	if err != nil {
		err = t.Explain(ctx, err, limit)
	}
	return v, err
}

// suspendedCheck is how often a command that waits checks whether the sandbox's process is suspended.
const suspendedCheck = time.Second

// whileRunning returns a context that ends, with an error for the user as its cause, when the process of the sandbox is found
// suspended, as by Ctrl-Z: it cannot answer then, however long a command waits.
func (t *Target) whileRunning(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(suspendedCheck)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if instance.Suspended(ctx, t.PID) {
				cancel(&report.Error{
					Code:    "suspended",
					Message: fmt.Sprintf("sandbox %q is suspended: process %d was stopped by Ctrl-Z or SIGSTOP", t.Name, t.PID),
					Try:     fmt.Sprintf("fg   # in its terminal\nkill -CONT %d\n%s down --name %s", t.PID, Program, t.Name),
				})
				return
			}
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// Explain turns an error of the client into one for the user. limit is the time that the sandbox was given; ctx is the
// command's own context.
func (t *Target) Explain(ctx context.Context, err error, limit time.Duration) error {
	var (
		reported *api.Error
		netErr   *net.OpError
	)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &reported):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return &report.Error{
			Code:    "not-answering",
			Message: fmt.Sprintf("sandbox %q does not answer within %s", t.Name, limit),
			Try:     fmt.Sprintf("%s logs --name %s\n%[1]s down --name %[2]s", Program, t.Name),
		}
	case errors.As(err, &netErr), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &report.Error{
			Code:    "unreachable",
			Message: fmt.Sprintf("sandbox %q cannot be reached; it is starting, or ending", t.Name),
			Try:     Program + " list",
			Err:     err,
		}
	}
	return err
}

// Or returns f, the test's stand-in for what a command runs, or run if f is nil.
func Or[O any](f, run func(context.Context, O) error) func(context.Context, O) error {
	if f == nil {
		return run
	}
	return f
}
