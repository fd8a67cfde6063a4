package main

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// kept is how many archives stay in the cache: that of the image that was made last, and the one before it, which somebody
// may be comparing with.
const kept = 2

// retire removes all archives from the cache but the youngest, what a build that was cut off has left of one, and Debian's
// packages of other lists than current.
func retire(cache, current string) error {
	archives, err := filepath.Glob(filepath.Join(cache, "node-*.tar"))
	if err != nil {
		return err
	}
	type aged struct {
		path string
		info fs.FileInfo
	}
	var all []aged
	for _, path := range archives {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		all = append(all, aged{path, info})
	}
	slices.SortFunc(all, func(a, b aged) int {
		return cmp.Or(b.info.ModTime().Compare(a.info.ModTime()), cmp.Compare(a.path, b.path))
	})
	var errs []error
	for _, old := range all[min(kept, len(all)):] {
		errs = append(errs, os.Remove(old.path))
	}
	for _, pattern := range []string{"node-*.tar.new", "debian-*"} {
		left, err := filepath.Glob(filepath.Join(cache, pattern))
		if err != nil {
			return err
		}
		for _, path := range left {
			if path != current {
				errs = append(errs, remove(path))
			}
		}
	}
	return errors.Join(errs...)
}
