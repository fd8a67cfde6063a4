package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
)

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

// Taken returns an ErrRunning when a live sandbox has the name, and nil when none has it, or that cannot be seen: [Create]
// decides.
func Taken(root, name string) error {
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
		return fmt.Sprintf("sandbox %q does not exist; no sandbox does", e.Name)
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
