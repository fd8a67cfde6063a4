package guestfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// etc is the directory that is replaced.
const etc = "/etc"

// Mount replaces /etc for this process and those that it starts. It must have its own mount namespace.
func (f Files) Mount() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mount namespace: %w", err)
	}
	if err := unix.Mount(etc, f.Host, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount %s: %w", f.Host, err)
	}
	if err := unix.Mount("guest", etc, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=1m"); err != nil {
		return fmt.Errorf("mount %s: %w", etc, err)
	}
	return f.fill(etc)
}

// fill makes the links in a directory, and links to everything else of the host's.
func (f Files) fill(dir string) error {
	own := map[string]bool{"hosts": true} // the paths that the host's do not take, parents included
	for path := range f.Links {
		for p := path; p != "."; p = filepath.Dir(p) {
			own[p] = true
		}
	}
	var fill func(at string) error
	fill = func(at string) error {
		entries, err := os.ReadDir(filepath.Join(f.Host, at))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			path := filepath.Join(at, e.Name())
			switch {
			case !own[path]:
				if err := os.Symlink(filepath.Join(f.Host, path), filepath.Join(dir, path)); err != nil {
					return err
				}
			case f.Links[path] == "" && path != "hosts":
				if err := errors.Join(os.MkdirAll(filepath.Join(dir, path), 0o755), fill(path)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := fill("."); err != nil {
		return err
	}
	for path, target := range f.Links {
		at := filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.Symlink(target, at)); err != nil {
			return err
		}
	}
	hosts, err := os.ReadFile(filepath.Join(f.Host, "hosts"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	lines := strings.Join(f.Hosts, "\n") + "\n"
	return os.WriteFile(filepath.Join(dir, "hosts"), append([]byte(lines), hosts...), 0o644)
}
