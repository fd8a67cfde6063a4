package private_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
)

// stranger is a user who has no business in the directories of a test.
const stranger = 65534

// A file that another user can have made, or changed, is not read: each way to plant one has its own.
func TestReadFile(t *testing.T) {
	for name, tc := range map[string]struct {
		plant func(t *testing.T, path string) error
		want  string // "" for a file that is read
	}{
		"ours": {plant: func(_ *testing.T, path string) error { return os.WriteFile(path, []byte("text"), 0o600) }},
		"for all": {func(_ *testing.T, path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o604))
		}, "may be read or written by others"},
		"for our group": {func(_ *testing.T, path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o620))
		}, "may be read or written by others"},
		"a link": {func(t *testing.T, path string) error {
			other := filepath.Join(t.TempDir(), "other")
			return errors.Join(os.WriteFile(other, nil, 0o600), os.Symlink(other, path))
		}, "is a symbolic link"},
		"a second name": {func(_ *testing.T, path string) error {
			return errors.Join(os.WriteFile(path+".other", nil, 0o600), os.Link(path+".other", path))
		}, "has 2 names"},
		"a pipe":      {func(_ *testing.T, path string) error { return syscall.Mkfifo(path, 0o600) }, "is not a regular file"},
		"a directory": {func(_ *testing.T, path string) error { return os.Mkdir(path, 0o700) }, "is not a regular file"},
		"another user's": {func(t *testing.T, path string) error {
			needRoot(t)
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Chown(path, stranger, -1))
		}, "belongs to user 65534"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			if err := tc.plant(t, path); err != nil {
				t.Fatal(err)
			}
			text, err := private.ReadFile(path)
			if tc.want == "" {
				if err != nil || string(text) != "text" {
					t.Errorf("read %q, %v", text, err)
				}
				return
			}
			var e *private.Error
			if !errors.As(err, &e) || !strings.Contains(e.Why, tc.want) || e.Path != path || e.Try == "" || !errors.Is(err, fs.ErrPermission) {
				t.Errorf("read %q, %v", text, err)
			}
		})
	}
	if _, err := private.ReadFile(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of no file: %v", err)
	}
}

func TestDir(t *testing.T) {
	for name, tc := range map[string]struct {
		mode      os.FileMode
		owner     int
		want, way string
	}{
		"ours alone":     {mode: 0o700, owner: -1},
		"to be read":     {mode: 0o755, owner: -1},
		"of our group":   {mode: 0o770, owner: -1, want: "mode 0770", way: "chmod go-w"},
		"of all":         {mode: 0o707, owner: -1, want: "mode 0707", way: "chmod go-w"},
		"as /tmp":        {mode: 0o777 | os.ModeSticky, owner: -1, want: "mode 1777", way: "mkdir -m 700"},
		"another user's": {mode: 0o700, owner: stranger, want: "belongs to user 65534"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.owner >= 0 {
				needRoot(t)
			}
			dir := filepath.Join(t.TempDir(), "dir")
			if err := errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, tc.mode), os.Chown(dir, tc.owner, -1)); err != nil {
				t.Fatal(err)
			}
			err := private.Dir(dir)
			var e *private.Error
			if tc.want == "" {
				if err != nil {
					t.Error(err)
				}
			} else if !errors.As(err, &e) || !strings.Contains(e.Why, tc.want) || !strings.HasPrefix(e.Try, tc.way) {
				t.Errorf("%#v", err)
			}
		})
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	if err := private.Dir(link); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("a link: %v", err)
	}
}

// needRoot skips what only root can set up: a file of another user's.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
}
