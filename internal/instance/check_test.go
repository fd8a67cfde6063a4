package instance_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
)

// A state root in which another user can put something is refused by everything that reads there, and so is what is none.
func TestRootIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := func(mode os.FileMode, owner int) string {
		path := filepath.Join(t.TempDir(), "state")
		if err := errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, mode), os.Chown(path, owner, -1)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir(0o777|os.ModeSticky, -1), link); err != nil {
		t.Fatal(err)
	}
	roots := map[string]struct {
		root, want string
		planted    bool
	}{
		"for all, sticky": {dir(0o777|os.ModeSticky, -1), "others may write to it (mode 1777)", true},
		"for a group":     {dir(0o770, -1), "others may write to it (mode 0770)", true},
		"a link to one":   {link, "others may write to it (mode 1777)", true},
		"a file":          {file, "file is a file, not a directory", false},
		"below a file":    {filepath.Join(file, ".local", "state"), "file is a file, not a directory", false},
	}
	if os.Geteuid() == 0 {
		roots["another user's"] = struct {
			root, want string
			planted    bool
		}{dir(0o700, 65534), "belongs to user 65534", true}
	}
	for name, tc := range roots {
		t.Run(name, func(t *testing.T) {
			_, create := instance.Create(tc.root, "demo")
			_, open := instance.Open(tc.root, "demo")
			_, list := instance.List(tc.root)
			_, reap := instance.Reap(t.Context(), tc.root, "demo")
			for what, err := range map[string]error{"check": instance.Check(tc.root), "create": create, "open": open, "list": list, "reap": reap} {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s: %v", what, err)
				}
				if got := errors.As(err, new(*private.Error)); got != tc.planted {
					t.Errorf("%s: %#v", what, err)
				}
				if got := errors.As(err, new(*instance.ErrUnusable)); got == tc.planted {
					t.Errorf("%s: %#v", what, err)
				}
			}
		})
	}
	// In /tmp, which everyone may write to, a directory of one's own is safe; and one that can be read is, too.
	for name, root := range map[string]string{"inside of a sticky one": filepath.Join(dir(0o777|os.ModeSticky, -1), "mine"), "readable": dir(0o755, -1)} {
		d, err := instance.Create(root, "demo")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := d.Remove(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := instance.Create("/proc/none", "demo"); !errors.As(err, new(*instance.ErrUnusable)) {
		t.Errorf("in /proc: %v", err)
	}
}

// An instance directory that others can write to is none: they could have written its journal.
func TestWritableInstanceIsRefused(t *testing.T) {
	root := t.TempDir()
	d := create(t, root, "demo")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(d.Path(), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := instance.Open(root, "demo"); !errors.As(err, new(*private.Error)) {
		t.Errorf("open: %v", err)
	}
	if _, err := instance.Reap(t.Context(), root, "demo"); !errors.As(err, new(*private.Error)) {
		t.Errorf("reap: %v", err)
	}
	if err := os.Chmod(d.Path(), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := instance.Reap(t.Context(), root, "demo"); err != nil {
		t.Error(err)
	}
}
