package child

import "time"

// State is where a child is in its life; see the diagram in the package
// comment.
type State string

// The states of a child.
const (
	// Starting: Start was called and nothing has been started yet. It never comes as a Change.
	Starting State = "starting"
	// Started: the process is running, or suspended.
	Started State = "started"
	// Exited: the process ended on its own, or could not be started.
	Exited State = "exited"
	// Restarting: a new process will be started after Change.Backoff.
	Restarting State = "restarting"
	// Stopped: there is no process and there will not be one again.
	Stopped State = "stopped"
)

// Change reports that a child has entered a state.
type Change struct {
	// Name is the Spec's.
	Name string
	// State is the state entered.
	State State
	// PID is the process it is about: the new one for Started, the one that
	// ended otherwise; 0 when there was none.
	PID int
	// Err says why, beginning with the name. Exited: how the process ended, an
	// *exec.ExitError inside, nil for exit status 0; or why it could not be
	// started. Stopped: that the process had to be killed because TERM did not
	// end it, or could not be ended.
	Err error
	// Tail is the end of the log of a process that exited on its own, at most 20 lines and 4 kB.
	Tail []string
	// Backoff is the pause before the start that Restarting announces.
	Backoff time.Duration
}
