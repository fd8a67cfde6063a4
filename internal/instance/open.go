package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Open returns the directory of a sandbox, running or dead, for reading; that of
// a running one also when it has been removed. The error is an ErrNotFound when
// there is none of that name.
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
