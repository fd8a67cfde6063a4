package instance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
)

// RootEnv is the environment variable that names the state root.
const RootEnv = "VSPHERE_SANDBOX_STATE"

const maxName = 40

// Root returns the directory that has the instance directories, absolute:
// $VSPHERE_SANDBOX_STATE, else $XDG_STATE_HOME/vsphere-sandbox, else
// ~/.local/state/vsphere-sandbox. It need not exist.
func Root() (string, error) {
	if dir := os.Getenv(RootEnv); dir != "" {
		return filepath.Abs(dir)
	}
	// The XDG specification has relative paths ignored.
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "vsphere-sandbox"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("state directory: %w; set %s", err, RootEnv)
	}
	return filepath.Join(home, ".local", "state", "vsphere-sandbox"), nil
}

// Check returns an error unless root can be the state root: a directory of this user's in which no other user can put
// anything, or nothing yet. Links on the way to it are followed. The error is a [private.Error] when the directory is there and
// others could have planted files in it, from which commands learn what to kill, remove and write; and an [ErrUnusable]
// when there is something else in its place.
func Check(root string) error {
	real, err := filepath.EvalSymlinks(root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, syscall.ENOTDIR):
		return &ErrUnusable{Root: root, Err: fmt.Errorf("%s is a file, not a directory", firstFile(root))}
	case err != nil:
		return &ErrUnusable{Root: root, Err: err}
	}
	err = private.Dir(real)
	if errors.Is(err, syscall.ENOTDIR) {
		return &ErrUnusable{Root: root, Err: fmt.Errorf("%s is a file, not a directory", real)}
	}
	return err
}

// firstFile returns the part of path that is no directory.
func firstFile(path string) string {
	for dir := path; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && !info.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
	}
}

// makeRoot creates a missing state root.
func makeRoot(root string) error {
	if err := Check(root); err != nil {
		return err
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return &ErrUnusable{Root: root, Err: err}
	}
	return Check(root) // another user may have been faster
}

// ValidateName returns an error unless name can be a sandbox's: lower-case
// letters, digits and dashes, beginning and ending with a letter or digit
// (RFC 1123), at most 40 characters.
func ValidateName(name string) error {
	label := regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	if len(name) > maxName || !label.MatchString(name) {
		return fmt.Errorf("sandbox name %q: want lower-case letters, digits and dashes, a letter or digit first and last, "+
			"at most %d characters", name, maxName)
	}
	return nil
}

// resolve returns the path of the instance directory with the links above it
// resolved, so that every process of the user's spells it the same: it is by
// this path that a sandbox's processes are known again.
func resolve(root, name string) (string, error) {
	if err := ValidateName(name); err != nil {
		return "", err
	}
	real, err := resolveRoot(root)
	if err != nil {
		return "", err
	}
	return filepath.Join(real, name), nil
}

// resolveRoot returns the state root without links, after a [Check]; a missing one unchanged.
func resolveRoot(root string) (string, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	if err := Check(abs); err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return abs, nil
	}
	if err != nil {
		return "", fmt.Errorf("state directory: %w", err)
	}
	return real, nil
}

// ShortPath returns a path for a directory below the instance directory in which another program creates unix sockets:
// that of the directory itself or, if the socket's path (suffix is what comes after the directory) would be too long, a
// short link to it beside the control socket. The directory need not exist. Owner only; [Dir.Remove] removes the link.
func (d *Dir) ShortPath(suffix string, elem ...string) (string, error) {
	path := d.Path(elem...)
	if len(path)+len(suffix) <= maxSocketPath {
		return path, nil
	}
	if err := d.owned(); err != nil {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, err := makeShortDir(d.path)
	if err != nil {
		return "", err
	}
	if link, ok := d.links[path]; ok {
		return link, nil
	}
	link := filepath.Join(dir, fmt.Sprintf("%d", len(d.links)))
	if err := os.Symlink(path, link); err != nil {
		return "", fmt.Errorf("short path of %s: %w", path, err)
	}
	if d.links == nil {
		d.links = map[string]string{}
	}
	d.links[path] = link
	return link, nil
}

// Create makes the directory of a new sandbox and takes its lock. What a dead
// sandbox of that name has left is ended and removed first (see [Reap] and
// [Dir.Predecessor]). The error is an ErrRunning when a live sandbox has the
// name, and one with ErrForeign when the directory is none of a sandbox's.
// The caller keeps the Dir, for the lock goes with it, and ends with Remove.
func Create(root, name string) (*Dir, error) {
	if err := ValidateName(name); err != nil {
		return nil, err
	}
	if err := makeRoot(root); err != nil {
		return nil, err
	}
	path, err := resolve(root, name)
	if err != nil {
		return nil, err
	}
	claim, err := takeClaim(path, name)
	if err != nil {
		return nil, err
	}
	lock, err := acquire(path, name, toRun)
	if err != nil {
		return nil, errors.Join(err, claim.giveUp())
	}
	d := &Dir{name: name, path: path, lock: lock, claim: claim}
	if d.left, err = clean(context.Background(), path, name); err != nil {
		// What is left may still be in use: it stays for another try.
		return nil, errors.Join(fmt.Errorf("what sandbox %q left: %w", name, err), d.Close())
	}
	// Where the claim cannot be written, the disk of its place being full, the sandbox can do without.
	_ = claim.enter()
	if err := d.furnish(); err != nil {
		_, emptyErr := empty(path)
		abandon(path, lock)
		return nil, errors.Join(fmt.Errorf("state directory: %w", err), emptyErr, claim.giveUp())
	}
	return d, nil
}

// furnish puts into the empty directory what every sandbox has.
func (d *Dir) furnish() error {
	if err := os.Chmod(d.path, 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(d.path, "logs"), 0o700); err != nil {
		return err
	}
	socket, err := makeSocketDir(d.path)
	if err != nil {
		return err
	}
	d.socket = socket
	d.journal = &Journal{path: filepath.Join(d.path, journalName), owned: d.owned}
	return nil
}
