package command

import (
	"context"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
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
	// Reap removes what dead sandboxes left behind and tells what that was, one line each.
	Reap(ctx context.Context) ([]string, error)
}

// Sandbox is one sandbox as its directory tells it, before anyone talks to it.
type Sandbox struct {
	Name string
	// Dir holds everything of it.
	Dir string
	// Socket is where it listens.
	Socket string
	// Running tells whether its process lives. A sandbox that does not run has crashed: one that ends well leaves
	// nothing behind.
	Running bool
	// PID, StartedAt and Scenario are zero when not known.
	PID       int
	StartedAt time.Time
	Scenario  string
}

// Name returns the name that was asked for, by flag or environment, or the default; asked tells which.
func (d *Deps) Name() (name string, asked bool) {
	if d.NameFlag != "" {
		return d.NameFlag, true
	}
	if name := d.Getenv(NameEnv); name != "" {
		return name, true
	}
	return DefaultName, false
}
