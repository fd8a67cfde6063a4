package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
)

// purpose is what the lock is held for.
type purpose string

const (
	toRun   purpose = "run"
	toClean purpose = "clean" // what a dead sandbox left
)

// A lock may be held by a reader that checks for it (microseconds), by a cleanup (seconds at worst), or by a running
// sandbox. The first two are waited for.
const (
	probePatience = 250 * time.Millisecond
	cleanPatience = 5 * time.Second
	lockTick      = 5 * time.Millisecond
)

// The lock file says who holds it, in a line of constant length so that one
// write replaces it. Its first word is what makes a directory an instance
// directory.
const (
	lockFormat = "vsphere-sandbox %-5s %10d\n"
	lockLength = len("vsphere-sandbox run   1234567890\n")
)

// acquire takes the lock of the instance directory at path, for name. With toRun it creates a missing directory; with
// toClean it then returns fs.ErrNotExist or ErrForeign. The lock is released when the file is closed, by the kernel at
// the latest; child processes do not inherit it.
func acquire(path, name string, why purpose) (*os.File, error) {
	begin := time.Now()
	for {
		lock, looked, err := tryAcquire(path, why)
		if err != nil {
			return nil, fmt.Errorf("state directory: %w", err)
		}
		if lock != nil {
			if _, err := lock.WriteAt(fmt.Appendf(nil, lockFormat, why, os.Getpid()), 0); err != nil {
				abandon(path, lock)
				return nil, fmt.Errorf("state directory: %w", err)
			}
			return lock, nil
		}
		pid, heldTo := holder(path)
		patience := probePatience
		if heldTo == toClean || looked {
			patience = cleanPatience
		}
		if time.Since(begin) > patience {
			return nil, ErrRunning{Name: name, PID: pid}
		}
		<-time.After(lockTick) // there is no waiting for a flock with a time limit
	}
}

// tryAcquire returns nil, and no error, if the caller should retry; looked reports that only readers held the lock, of
// which there may always be another.
func tryAcquire(path string, why purpose) (lock *os.File, looked bool, err error) {
	if why == toRun {
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, false, err
		}
	}
	if err := inspect(path, why); err != nil {
		if errors.Is(err, fs.ErrNotExist) && why == toRun {
			return nil, false, nil // its owner removed it this moment
		}
		return nil, false, err
	}
	flags := os.O_RDWR
	if why == toRun {
		flags |= os.O_CREATE
	}
	lock, err = private.Open(filepath.Join(path, lockName), flags)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil // the same
	}
	if err != nil {
		return nil, false, err
	}
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil && sameFile(lock, filepath.Join(path, lockName)) {
		return lock, false, nil
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		looked = unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil
	}
	_ = lock.Close() // held, or removed with the directory since we opened it
	if err == nil || errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return nil, looked, nil
	}
	return nil, false, fmt.Errorf("lock %s: %w", path, err)
}

// abandon removes a directory that has just been made and cannot be used.
func abandon(path string, lock *os.File) {
	if entries, err := os.ReadDir(path); err == nil && len(entries) == 1 {
		_ = os.Remove(lock.Name())
		_ = os.Remove(path)
	}
	_ = lock.Close()
}

func sameFile(open *os.File, path string) bool {
	have, err := open.Stat()
	if err != nil {
		return false
	}
	want, err := os.Lstat(path)
	return err == nil && os.SameFile(have, want)
}

// holder reads who has, or had last, the lock.
func holder(path string) (pid int, why purpose) {
	text, err := private.ReadFile(filepath.Join(path, lockName))
	if err != nil {
		return 0, ""
	}
	if _, err := fmt.Sscanf(string(text), "vsphere-sandbox %s %d", &why, &pid); err != nil {
		return 0, ""
	}
	return pid, why
}

// probe reports whether a live sandbox has the lock. To see that, it has to take the lock itself if it can, shared with
// other probes, for a moment.
func probe(path string) (pid int, running bool) {
	lock, err := private.Open(filepath.Join(path, lockName), os.O_RDONLY)
	if err != nil {
		return 0, false
	}
	defer lock.Close()
	if !errors.Is(unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK) {
		return 0, false
	}
	pid, why := holder(path)
	return pid, why != toClean
}
