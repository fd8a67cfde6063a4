package command

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
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
	// Settle ends the processes that crashed sandboxes left, keeps their files, and returns a sentence about each; it says
	// nothing about those that it settled before.
	Settle(ctx context.Context) ([]string, error)
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

// Words are the reason and the stack, a frame a line.
func (c *Crash) Words() string {
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
	return report.UsageError(try, "there is no command %q", cmd.CommandPath()+" "+word)
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
