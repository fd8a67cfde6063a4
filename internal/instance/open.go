package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Open returns the directory of a sandbox, running or dead, for reading. The
// error is an ErrNotFound when there is none of that name.
func Open(root, name string) (*Dir, error) {
	path, err := resolve(root, name)
	if err != nil {
		return nil, err
	}
	if err := inspect(path, toClean); errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrForeign) {
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
	PID     int  // of the running sandbox; 0 when not known
	Record  Record
	Err     error // why Record is empty, not nil in the first moments of a sandbox
}

// List returns the sandboxes below root, running and dead, sorted by name. A
// root that does not exist has none.
func List(root string) ([]Entry, error) {
	if err := Check(root); err != nil {
		return nil, err
	}
	found, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	var entries []Entry
	for _, f := range found {
		path := filepath.Join(root, f.Name())
		if ValidateName(f.Name()) != nil || inspect(path, toClean) != nil {
			continue
		}
		entry := Entry{Name: f.Name()}
		entry.PID, entry.Running = probe(path)
		entry.Record, entry.Err = readRecord(path)
		entries = append(entries, entry)
	}
	return entries, nil
}
