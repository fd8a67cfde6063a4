package private

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"al.essio.dev/pkg/shellescape"
	"golang.org/x/sys/unix"
)

// Error says that a file or directory is not private. It is an fs.ErrPermission; use errors.As for the rest.
type Error struct {
	Path string
	// Why is a clause whose subject is Path.
	Why string
	// Try is what to do about it, one shell command a line; empty where nothing simple helps.
	Try string
}

func (e *Error) Error() string { return e.Path + ": " + e.Why }

// Is makes it an fs.ErrPermission.
func (e *Error) Is(target error) bool { return target == fs.ErrPermission }

// Open opens a file and returns an [Error] unless it is private. flags are those of os.OpenFile; with os.O_CREATE a missing
// file is made with mode 0600. A missing file is an fs.ErrNotExist.
func Open(path string, flags int) (*os.File, error) {
	// A pipe of someone else's must not hold up the open.
	file, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if errors.Is(err, syscall.ELOOP) {
		return nil, &Error{Path: path, Why: "is a symbolic link", Try: "rm " + shellescape.Quote(path)}
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil {
		err = judge(path, info)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// judge returns an error unless info is that of a private file.
func judge(path string, info fs.FileInfo) error {
	stat, known := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return &Error{Path: path, Why: "is not a regular file", Try: "rm " + shellescape.Quote(path)}
	case known && int(stat.Uid) != os.Geteuid():
		return &Error{Path: path, Why: fmt.Sprintf("belongs to user %d: it may have been planted", stat.Uid), Try: "rm " + shellescape.Quote(path)}
	case known && stat.Nlink > 1:
		return &Error{Path: path, Why: fmt.Sprintf("has %d names: it may have been planted", stat.Nlink), Try: "rm " + shellescape.Quote(path)}
	case info.Mode().Perm()&0o077 != 0:
		return &Error{Path: path, Why: "may be read or written by others", Try: "chmod 600 " + shellescape.Quote(path)}
	}
	return nil
}

// ReadFile returns the content of a file, and an [Error] unless it is private.
func ReadFile(path string) ([]byte, error) {
	file, err := Open(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(file)
	return text, errors.Join(err, file.Close())
}

// Dir returns an [Error] unless path is a private directory. A link to one is none, and neither is a file: that error is a
// syscall.ENOTDIR. A missing one is an fs.ErrNotExist.
func Dir(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return &Error{Path: path, Why: fmt.Sprintf("belongs to user %d", stat.Uid)}
	}
	if info.Mode().Perm()&0o022 != 0 {
		e := &Error{Path: path, Why: fmt.Sprintf("others may write to it (mode %s)", octal(info.Mode())), Try: "chmod go-w " + shellescape.Quote(path)}
		if info.Mode()&fs.ModeSticky != 0 { // it is meant for everyone, as /tmp is
			e.Try = "mkdir -m 700 " + shellescape.Quote(filepath.Join(path, "mine"))
		}
		return e
	}
	return nil
}

// octal writes a mode as chmod takes it.
func octal(m fs.FileMode) string {
	bits := uint32(m.Perm())
	if m&fs.ModeSticky != 0 {
		bits |= 0o1000
	}
	return fmt.Sprintf("%04o", bits)
}
