package instance

import (
	"errors"
	"fmt"
	"strings"
)

// ErrRunning says that a live sandbox has the name, or, as long as it takes,
// that a process is removing what a dead one left. Use errors.As.
type ErrRunning struct {
	Name string
	PID  int // 0 when not known
	// Removed says that its directory was removed while it runs. It notices that and ends.
	Removed bool
}

func (e ErrRunning) Error() string {
	if e.Removed {
		return fmt.Sprintf("sandbox %q is still running, as process %d: its directory was removed, and it is about to end", e.Name, e.PID)
	}
	if e.PID == 0 {
		return fmt.Sprintf("sandbox %q is already running", e.Name)
	}
	return fmt.Sprintf("sandbox %q is already running, as process %d", e.Name, e.PID)
}

// ErrNotFound says that there is no sandbox of that name, and which there are.
// Use errors.As.
type ErrNotFound struct {
	Name string
	Have []string // sorted
}

func (e ErrNotFound) Error() string {
	if len(e.Have) == 0 {
		return fmt.Sprintf("sandbox %q does not exist; there is none", e.Name)
	}
	return fmt.Sprintf("sandbox %q does not exist; there is %s", e.Name, strings.Join(e.Have, ", "))
}

// ErrUnusable says that the state root cannot be used, or made. Use errors.As.
type ErrUnusable struct {
	Root string
	Err  error
}

func (e *ErrUnusable) Error() string { return fmt.Sprintf("state directory: %v", e.Err) }

func (e *ErrUnusable) Unwrap() error { return e.Err }

// ErrForeign says that a directory is in the way that no sandbox has made. It
// is neither used nor removed.
var ErrForeign = errors.New("not a sandbox's directory")

// ErrNotOwner is returned for what only the owner of a directory may do.
var ErrNotOwner = errors.New("instance directory is not owned by this process")
