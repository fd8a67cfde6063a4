package instance

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
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

// maxSocketPath is what fits into sockaddr_un on every system: 104 bytes on
// macOS, 108 on Linux, the closing zero included.
const maxSocketPath = 103

// socketRoom is what a short directory has to leave of that: a link of five digits, and the longest suffix that is asked for
// ([Dir.ShortPath]), of the socket that announces a CSI driver to its kubelet. macOS has a long TMPDIR.
const socketRoom = 6 + 50

// makeSocketDir returns the path of the control socket of the instance
// directory at path, in a short directory where that is too long.
func makeSocketDir(path string) (socket string, err error) {
	socket = filepath.Join(path, socketName)
	if len(socket) <= maxSocketPath {
		return socket, nil
	}
	dir, err := makeShortDir(path)
	return filepath.Join(dir, socketName), err
}

// makeShortDir makes a directory with a short path for the instance directory
// at path, empty unless it is there already and noted, and notes its name in
// the instance directory for readers and for the removal: another command may
// run with another TMPDIR.
func makeShortDir(path string) (dir string, err error) {
	if dir, err := socketDir(path); err != nil || dir != "" {
		return dir, err
	}
	dir = shortDir(path)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("control socket: %w", err)
	}
	if err := trusted(dir); err != nil {
		return "", err
	}
	// Of an instance directory that the user removed by hand.
	if err := emptyShortDir(dir); err != nil {
		return "", fmt.Errorf("control socket: %w", err)
	}
	if err := atomicfile.WriteFile(filepath.Join(path, socketDirName), []byte(dir+"\n"), 0o600); err != nil {
		_ = os.Remove(dir)
		return "", err
	}
	return dir, nil
}

// shortDir is the path that makeShortDir chooses.
func shortDir(path string) string {
	short := fmt.Sprintf("vss-%d-%x", os.Geteuid(), sha256.Sum256([]byte(path)))
	short = short[:min(len(short), 24)]
	dir := filepath.Join(os.TempDir(), short)
	if len(dir)+socketRoom > maxSocketPath {
		dir = filepath.Join("/tmp", short)
	}
	return dir
}

// emptyShortDir removes what a sandbox puts into its short directory: the
// socket and links, never a directory or what a link leads to.
func emptyShortDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type()&(fs.ModeSocket|fs.ModeSymlink) == 0 {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// findSocket returns the path that makeSocketDir did. A short directory may
// be there for other sockets alone.
func findSocket(path string) (string, error) {
	if socket := filepath.Join(path, socketName); len(socket) <= maxSocketPath {
		return socket, nil
	}
	dir, err := socketDir(path)
	if err != nil {
		return "", err
	}
	if dir == "" {
		return filepath.Join(path, socketName), nil
	}
	if err := trusted(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return filepath.Join(dir, socketName), nil
}

// socketDir returns the recorded short directory, or "".
func socketDir(path string) (string, error) {
	text, err := private.ReadFile(filepath.Join(path, socketDirName))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// removeSocketDir removes the short directory, of which it takes only what
// makeSocketDir and the sandbox put there.
func removeSocketDir(path string) error {
	dir, err := socketDir(path)
	if err != nil || dir == "" {
		return err
	}
	if err := trusted(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if err := emptyShortDir(dir); err != nil {
		return err
	}
	return os.Remove(dir)
}

// trusted returns an error unless no other user can have put a socket into dir: all users can write to the temporary
// directory.
func trusted(dir string) error {
	if err := private.Dir(dir); err != nil {
		return fmt.Errorf("control socket: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("control socket: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("control socket: %s: mode is %#o, want 0700: %w", dir, mode, fs.ErrPermission)
	}
	return nil
}
