package instance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
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

// Open returns the directory of a sandbox, running or dead, for reading; that of a running one also after its removal.
// The error is an ErrNotFound if no sandbox has that name.
func Open(root, name string) (*Dir, error) {
	path, err := resolve(root, name)
	if err != nil {
		return nil, err
	}
	if err := inspect(path, toClean); errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrForeign) {
		if c, held := findClaim(path); held && c.PID != 0 {
			return &Dir{name: name, path: path, socket: filepath.Join(path, socketName)}, nil
		}
		return nil, notFound(root, name)
	} else if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	socket, err := findSocket(path)
	if err != nil {
		return nil, err
	}
	return &Dir{name: name, path: path, socket: socket}, nil
}

// CheckFree returns an ErrRunning when a live sandbox has the name, and nil when none has it, or that cannot be seen: [Create]
// decides.
func CheckFree(root, name string) error {
	dir, err := Open(root, name)
	if err != nil {
		return nil
	}
	pid, running := dir.Running()
	if !running {
		return nil
	}
	_, err = os.Lstat(filepath.Join(dir.path, lockName))
	return ErrRunning{Name: name, PID: pid, Removed: pid != 0 && errors.Is(err, fs.ErrNotExist)}
}

func notFound(root, name string) error {
	entries, err := List(root)
	if err != nil {
		return err
	}
	missing := ErrNotFound{Name: name}
	for _, entry := range entries {
		missing.Have = append(missing.Have, entry.Name)
	}
	return missing
}

// Entry is one sandbox of a List.
type Entry struct {
	Name    string
	Running bool // else it is what a dead sandbox left
	Removed bool // its directory was removed while it runs; it is about to end
	PID     int  // of the running sandbox; 0 when not known
	Record  Record
	Err     error // why Record is empty, not nil in the first moments of a sandbox
}

// List returns the sandboxes below root, running and dead, sorted by name, and
// those that run though their directory was removed. A root that does not exist
// has none but these.
func List(root string) ([]Entry, error) {
	if err := Check(root); err != nil {
		return nil, err
	}
	found, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	real, err := resolveRoot(root)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	running := claimed(real)
	for _, f := range found {
		path := filepath.Join(root, f.Name())
		if ValidateName(f.Name()) != nil || inspect(path, toClean) != nil {
			continue
		}
		entry := Entry{Name: f.Name()}
		entry.PID, entry.Running = probe(path)
		entry.Record, entry.Err = readRecord(path)
		if entry.Running {
			delete(running, f.Name())
		}
		entries = append(entries, entry)
	}
	for name, c := range running {
		entries = slices.DeleteFunc(entries, func(e Entry) bool { return e.Name == name })
		entries = append(entries, Entry{Name: name, Running: true, Removed: true, PID: c.PID, Record: Record{Name: name, PID: c.PID}})
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}

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
		return fmt.Sprintf("sandbox %q not found; there are no sandboxes", e.Name)
	}
	return fmt.Sprintf("sandbox %q not found; sandboxes: %s", e.Name, strings.Join(e.Have, ", "))
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

// Remove removes the directory with everything in it, and the socket's, and
// gives the lock back. Of a directory that was removed under its owner it
// removes what the sandbox's processes have made again since; another sandbox's
// that has taken its place it leaves alone. Symbolic links are removed, not followed. The caller has
// ended the sandbox's processes. A second Remove does nothing; a reader gets
// ErrNotOwner.
func (d *Dir) Remove() error {
	if d.journal == nil && d.owned() != nil {
		return ErrNotOwner
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lock == nil {
		return nil
	}
	if !sameFile(d.lock, filepath.Join(d.path, lockName)) {
		err := errors.Join(d.removeLost(), d.lock.Close(), d.claim.giveUp())
		d.lock, d.claim = nil, nil
		if err != nil {
			return fmt.Errorf("sandbox %q: %w", d.name, err)
		}
		return nil
	}
	_, err := empty(d.path)
	if err == nil {
		// The lock file goes last and while the lock is held; who gets the lock
		// of a file that is not there any more knows what that means.
		err = os.Remove(filepath.Join(d.path, lockName))
	}
	if err == nil {
		// When it is not empty a new sandbox of that name has just come.
		_ = os.Remove(d.path)
	}
	err = errors.Join(err, d.lock.Close(), d.claim.giveUp())
	d.lock, d.claim = nil, nil
	if err != nil {
		return fmt.Errorf("sandbox %q: %w", d.name, err)
	}
	return nil
}

// empty removes all but the lock file, and reports whether there was anything.
func empty(path string) (removed bool, err error) {
	if err := private.Dir(path); err != nil {
		return false, err
	}
	if err := removeSocketDir(path); err != nil {
		return false, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return false, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return false, err
	}
	for _, entry := range entries {
		if entry.Name() == lockName {
			continue
		}
		if err := removeAll(root, entry.Name()); err != nil {
			return removed, err
		}
		removed = true
	}
	return removed, nil
}

// removeAll is root.RemoveAll, also of directories that are read-only, as
// volumes may leave them. Root keeps it inside the directory.
func removeAll(root *os.Root, name string) error {
	err := root.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = fs.WalkDir(root.FS(), name, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = root.Chmod(path, 0o700)
		}
		return nil
	})
	return root.RemoveAll(name)
}

// Record is what a sandbox writes down about itself for other commands.
type Record struct {
	Name      string    `json:"name"`
	PID       int       `json:"pid"`
	StartedAt time.Time `json:"startedAt"`
	Version   string    `json:"version,omitempty"`
	Topology  string    `json:"scenario,omitempty"`
	Ready     bool      `json:"ready"`

	// Retained says that the sandbox has ended and left its directory to be
	// looked at.
	Retained bool `json:"retained,omitempty"`

	// ProcessesReaped says that the sandbox has crashed, that what ran of it has been ended since, and that its files are kept.
	ProcessesReaped bool `json:"settled,omitempty"`

	// Left says that the sandbox has ended in order, and could not take back all that it had elsewhere.
	Left bool `json:"left,omitempty"`

	// Extra is additional data of the sandbox.
	Extra json.RawMessage `json:"extra,omitempty"`
}

// WriteRecord replaces the record. A reader sees the old one or the new one,
// never a part, also when the disk is full; it is not made to survive a loss of
// power, which the sandbox does not either. Owner only.
func (d *Dir) WriteRecord(r Record) error {
	if err := d.owned(); err != nil {
		return err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("sandbox %q: record: %w", d.name, err)
	}
	if err := atomicfile.WriteFile(filepath.Join(d.path, recordName), append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("sandbox %q: record: %w", d.name, err)
	}
	return nil
}

// ReadRecord returns the record written last; the error is an fs.ErrNotExist before the first.
func (d *Dir) ReadRecord() (Record, error) { return readRecord(d.path) }

func readRecord(path string) (Record, error) {
	text, err := private.ReadFile(filepath.Join(path, recordName))
	if err != nil {
		return Record{}, err
	}
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return Record{}, fmt.Errorf("%s: %w", filepath.Join(path, recordName), err)
	}
	return r, nil
}
