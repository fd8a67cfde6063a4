package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// What a disk's directory holds.
const (
	recordFile = "disk.json"
	fsFile     = "fs.json"
	dataDir    = "data"
	blockFile  = "block"
)

// record is disk.json.
type record struct {
	Bytes int64 `json:"bytes"`
}

// Create makes dir, and what leads to it, an empty disk of that many bytes. Error: fs.ErrExist when dir is there already. One
// at a time for a directory.
func Create(dir string, bytes int64) error {
	if err := checkSize(bytes); err != nil {
		return fmt.Errorf("disk %s: %w", dir, err)
	}
	return build(dir, func(at string) error { return writeRecord(at, bytes) })
}

// Size returns a disk's size, bytes. Error: fs.ErrNotExist.
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

// Resize makes a disk larger, which its node sees when it looks again; what is as large already is left as it is. A disk
// never shrinks. Error: fs.ErrNotExist. One at a time for a directory.
func Resize(dir string, bytes int64) error {
	is, err := Size(dir)
	if err != nil || bytes <= is {
		return err
	}
	return writeRecord(dir, bytes)
}

// Remove takes a disk away with all that is on it. None there is no error. One at a time for a directory.
func Remove(dir string) error {
	gone := dir + ".gone"
	err := errors.Join(removeAll(gone), removeAll(dir+".new"))
	if err != nil {
		return err
	}
	// Half removed it must not look like a disk.
	switch err := os.Rename(dir, gone); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return removeAll(gone)
}

// build makes a disk beside dir, lets fill it, and moves it into place as a whole.
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
		err = os.Rename(at, dir) // which never replaces a directory
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
		return fmt.Errorf("%d bytes: not a size", bytes)
	}
	return nil
}
