package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	recordFile = "disk.json"
	fsFile     = "fs.json"
	dataDir    = "data"
	blockFile  = "block"
)

type record struct {
	Bytes int64 `json:"bytes"`
}

// Create creates an empty disk of the given size in dir, with its parent directories. Error: fs.ErrExist if dir exists. Calls
// for the same dir must not run concurrently.
func Create(dir string, bytes int64) error {
	if err := checkSize(bytes); err != nil {
		return fmt.Errorf("disk %s: %w", dir, err)
	}
	return build(dir, func(at string) error { return writeRecord(at, bytes) })
}

// Size returns a disk's size in bytes. Error: fs.ErrNotExist.
func Size(dir string) (int64, error) {
	b, err := os.ReadFile(filepath.Join(dir, recordFile))
	if err != nil {
		return 0, fmt.Errorf("disk: %w", err)
	}
	var r record
	if err := json.Unmarshal(b, &r); err != nil {
		return 0, fmt.Errorf("disk %s: %w", dir, err)
	}
	return r.Bytes, nil
}

// Resize grows a disk, which its node notices at the next call. A disk that is large enough stays as it is; a disk never
// shrinks. Error: fs.ErrNotExist. Calls for the same dir must not run concurrently.
func Resize(dir string, bytes int64) error {
	is, err := Size(dir)
	if err != nil || bytes <= is {
		return err
	}
	return writeRecord(dir, bytes)
}

// Remove deletes a disk with its content, if it exists. Calls for the same dir must not run concurrently.
func Remove(dir string) error {
	gone := dir + ".gone"
	err := errors.Join(removeAll(gone), removeAll(dir+".new"))
	if err != nil {
		return err
	}
	// A partly removed directory must not look like a disk.
	switch err := os.Rename(dir, gone); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return removeAll(gone)
}

// build creates a disk next to dir, calls fill, and renames it to dir.
func build(dir string, fill func(at string) error) error {
	at := dir + ".new"
	if err := removeAll(at); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(at, dataDir), 0o700); err != nil {
		return err
	}
	err := fill(at)
	if err == nil {
		err = os.Rename(at, dir) // never replaces a directory with content
	}
	if err != nil {
		return errors.Join(err, removeAll(at))
	}
	return nil
}

func writeRecord(dir string, bytes int64) error {
	return writeJSON(filepath.Join(dir, recordFile), record{Bytes: bytes})
}

func checkSize(bytes int64) error {
	if bytes <= 0 {
		return fmt.Errorf("%d bytes: not a valid size", bytes)
	}
	return nil
}
