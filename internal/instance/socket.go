package instance

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
)

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
