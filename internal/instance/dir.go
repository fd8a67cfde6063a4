package instance

import (
	"errors"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// Names within an instance directory that this package gives meaning to.
const (
	lockName      = "lock"
	recordName    = "sandbox.json"
	journalName   = "children.journal"
	socketName    = "control.sock"
	socketDirName = "socket-dir"
)

// Dir is an instance directory: for its owner, who got it from [Create], until
// Close or Remove; for a reader, who got it from [Open], as long as the owner
// leaves it there. Its methods may be called from any goroutine.
type Dir struct {
	name   string
	path   string
	socket string
	left   Report

	mu      sync.Mutex
	lock    *os.File          // nil for a reader, and once closed
	journal *Journal          // nil for a reader
	links   map[string]string // short paths, by what they lead to
	claim   *claim            // nil for a reader, once closed, and where there is no place for claims
	seen    map[string]bool   // names of what was in the directory of an owner
}

// Name returns the sandbox's name.
func (d *Dir) Name() string { return d.name }

// Path returns the path of something in the directory, or without elements of
// the directory itself. It is absolute and has no symbolic link on the way to
// the directory. A process whose command line or environment has this path in
// it, and which is in the journal, is known to be the sandbox's.
func (d *Dir) Path(elem ...string) string {
	return filepath.Join(append([]string{d.path}, elem...)...)
}

// Log returns the path of a component's log: logs/node/worker-1.log for "node/worker-1". It is in the logs directory for
// any name.
func (d *Dir) Log(component string) string {
	return filepath.Join(d.path, "logs", filepath.Clean("/"+component)+".log")
}

// SocketPath returns the path of the control socket, short enough for a unix
// socket (104 bytes on some systems): in a directory for the temporary when the
// instance directory's own path is too long.
func (d *Dir) SocketPath() string { return d.socket }

// Predecessor returns what Create cleaned up that a dead sandbox of this name
// had left; the zero Report when there was nothing.
func (d *Dir) Predecessor() Report { return d.left }

// Journal returns the owner's list of the processes it has started; nil for a
// reader.
func (d *Dir) Journal() *Journal { return d.journal }

// Running returns whether a live sandbox owns the directory, or did until it was
// removed, and which process it is (0 in the moment between its start and its
// entry).
func (d *Dir) Running() (pid int, running bool) {
	if pid, running := probe(d.path); running {
		return pid, true
	}
	c, held := findClaim(d.path)
	return c.PID, held
}

// Close gives the directory up without removing it: for others it is then what
// a dead sandbox left. For a reader, and a second time, it does nothing.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lock == nil {
		return nil
	}
	// A child that is being started has the descriptor, too, until it is another program: closing alone is not enough.
	err := errors.Join(unix.Flock(int(d.lock.Fd()), unix.LOCK_UN), d.lock.Close(), d.claim.giveUp())
	d.lock, d.claim = nil, nil
	return err
}

// owned returns an error for readers and after Close.
func (d *Dir) owned() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lock == nil {
		return ErrNotOwner
	}
	return nil
}
