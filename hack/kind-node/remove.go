package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// remove deletes a folder of ours. What is mounted in it, as debootstrap leaves /proc when it is killed, is unmounted
// first: it is not ours.
func remove(dir string) error {
	real, err := filepath.EvalSymlinks(dir) // as the kernel names it
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	inside := mountedIn(string(mounts), real)
	for _, point := range slices.Backward(inside) {
		if err := syscall.Unmount(point, 0); err != nil {
			return fmt.Errorf("%s is mounted and cannot be unmounted: %w", point, err)
		}
	}
	return os.RemoveAll(dir)
}

// mountedIn are the mount points below a folder, of the text of /proc/self/mounts, in its order.
func mountedIn(mounts, dir string) []string {
	plain := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var found []string
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		if point := plain.Replace(fields[1]); strings.HasPrefix(point, dir+"/") {
			found = append(found, point)
		}
	}
	return found
}
