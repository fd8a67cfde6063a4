package loop

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Mapping is a device with its file.
type Mapping struct {
	Device Device
	// File is the resolved path, which may have been removed.
	File string
}

// deleted is the kernel's suffix of a path that was removed.
const deleted = " (deleted)"

// List returns all loop devices of this host that have a file, of any owner.
func List() ([]Mapping, error) {
	found, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return nil, err
	}
	var all []Mapping
	for _, path := range found {
		name := filepath.Base(filepath.Dir(filepath.Dir(path)))
		n, err := strconv.Atoi(strings.TrimPrefix(name, "loop"))
		if err != nil {
			continue
		}
		b, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && len(b) == 0: // it ended since the listing
			continue
		case err != nil:
			return nil, fmt.Errorf("loop devices: %w", err)
		}
		file := strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), deleted)
		all = append(all, Mapping{Device: Device(n), File: file})
	}
	return all, nil
}

// ByFile returns the devices of a file.
func ByFile(file string) ([]Device, error) {
	is, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil, err
	}
	all, err := List()
	var of []Device
	for _, b := range all {
		if b.File == is {
			of = append(of, b.Device)
		}
	}
	return of, err
}

// below returns the devices with files that are, or were, below a folder.
func below(folder string) ([]Mapping, error) {
	is, err := filepath.EvalSymlinks(folder)
	if errors.Is(err, fs.ErrNotExist) {
		is, err = filepath.Abs(folder)
	}
	if err != nil {
		return nil, err
	}
	all, err := List()
	var of []Mapping
	for _, b := range all {
		if strings.HasPrefix(b.File, strings.TrimSuffix(is, "/")+"/") {
			of = append(of, b)
		}
	}
	return of, err
}
