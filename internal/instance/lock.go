package instance

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
		if heldTo == toClean || looked || pid == 0 { // without a PID: a process that only looks, or a new owner
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

// A claim is a file outside of the state root that a running sandbox keeps locked. By it a sandbox is found whose directory
// was removed while it runs: it takes some seconds to notice that and to end, and until then nothing in the state root
// says that it is there, nor that its name is taken.
type claim struct {
	Dir  string `json:"dir"` // the instance directory
	PID  int    `json:"pid"`
	path string
	file *os.File
}

// claimDirs are the places where claims can be, the first usable one for new ones. Commands of one user may differ in
// XDG_RUNTIME_DIR, which sudo, cron and containers do not set: all of them are looked at.
func claimDirs() []string {
	const name = "vsphere-sandbox"
	var dirs []string
	if run := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(run) {
		dirs = append(dirs, filepath.Join(run, name))
	}
	return append(dirs, filepath.Join("/tmp", fmt.Sprintf("%s-%d", name, os.Geteuid())))
}

// claimPrefix is what the names of claims begin with that are of one state root: other roots have sandboxes of the same names.
func claimPrefix(root string) string { return fmt.Sprintf("%.16x.", sha256.Sum256([]byte(root))) }

// takeClaim claims the name of the instance directory at path. The error is an ErrRunning when a sandbox has it. It returns
// nil, and no error, where there is no place for claims: then a sandbox goes without.
func takeClaim(path, name string) (*claim, error) {
	begin := time.Now()
	for {
		if held, ok := findClaim(path); ok {
			// Who is about to go, or just looks, is waited for. A claim without a PID is one that is looked at, or new.
			patience := probePatience
			if held.PID == 0 {
				patience = cleanPatience
			}
			if time.Since(begin) > patience {
				_, there := probe(path)
				return nil, ErrRunning{Name: name, PID: held.PID, Removed: held.PID != 0 && !there}
			}
			<-time.After(lockTick)
			continue
		}
		for _, dir := range claimDirs() {
			c, err := tryClaim(dir, path, name)
			if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, fs.ErrNotExist) {
				break // another was faster, or removed the empty directory: look again
			}
			if err == nil {
				return c, nil
			}
		}
		if time.Since(begin) > probePatience {
			return nil, nil
		}
		<-time.After(lockTick)
	}
}

// tryClaim makes an empty claim in one of the places. The error is an EWOULDBLOCK when it is taken, and an fs.ErrNotExist when
// another try is worth it.
func tryClaim(dir, path, name string) (*claim, error) {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("claim: %v", err) // not an fs.ErrNotExist: there is no such place
	}
	if err := trusted(dir); err != nil {
		return nil, err
	}
	c := &claim{Dir: path, PID: os.Getpid(), path: filepath.Join(dir, claimPrefix(filepath.Dir(path))+name)}
	file, err := private.Open(c.path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if !sameFile(file, c.path) {
		return nil, errors.Join(fs.ErrNotExist, file.Close())
	}
	c.file = file
	if err := file.Truncate(0); err != nil {
		return nil, errors.Join(err, c.giveUp())
	}
	return c, nil
}

// enter writes into a claim whose it is, when the instance directory is there: until then its absence means nothing. It does
// nothing for none.
func (c *claim) enter() error {
	if c == nil {
		return nil
	}
	text, err := json.Marshal(c)
	if err == nil {
		_, err = c.file.WriteAt(append(text, '\n'), 0)
	}
	return err
}

// giveUp removes a claim. It does nothing for none.
func (c *claim) giveUp() error {
	if c == nil {
		return nil
	}
	var err error
	if sameFile(c.file, c.path) {
		err = os.Remove(c.path) // while it is locked: who has opened it sees that it is gone
	}
	_ = os.Remove(filepath.Dir(c.path)) // stays when others have claims
	return errors.Join(err, c.file.Close())
}

// findClaim returns the claim of the instance directory at path, if a running sandbox holds it.
func findClaim(path string) (claim, bool) {
	name := claimPrefix(filepath.Dir(path)) + filepath.Base(path)
	for _, dir := range claimDirs() {
		if c, held := readClaim(dir, name); held {
			return c, true
		}
	}
	return claim{}, false
}

// claimed returns the claims of a state root that running sandboxes hold and have entered, by the sandboxes' names.
func claimed(root string) map[string]claim {
	all := map[string]claim{}
	prefix := claimPrefix(root)
	for _, dir := range slices.Backward(claimDirs()) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // the directory is missing
		}
		for _, e := range entries {
			if name, ok := strings.CutPrefix(e.Name(), prefix); ok && ValidateName(name) == nil {
				if c, held := readClaim(dir, e.Name()); held && c.PID != 0 {
					all[name] = c
				}
			}
		}
	}
	return all
}

// readClaim reads a claim and whether it is held: a killed sandbox leaves one that is not. Of a sandbox that is just being made
// PID is 0.
func readClaim(dir, name string) (c claim, held bool) {
	if trusted(dir) != nil {
		return c, false
	}
	path := filepath.Join(dir, name)
	file, err := private.Open(path, os.O_RDONLY)
	if err != nil {
		return c, false
	}
	defer file.Close()
	if !errors.Is(unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK) {
		return c, false
	}
	text, err := private.ReadFile(path)
	if err != nil {
		return c, false
	}
	_ = json.Unmarshal(text, &c) // it is empty at first
	// Who clears away a dead one holds its lock for a moment.
	return c, c.PID == 0 || !errors.Is(unix.Kill(c.PID, 0), unix.ESRCH)
}

// clearClaim removes the claim of a dead sandbox. That it cannot be is no harm: it says nothing without its lock.
func clearClaim(path string) {
	for _, dir := range claimDirs() {
		if trusted(dir) != nil {
			continue
		}
		c := &claim{path: filepath.Join(dir, claimPrefix(filepath.Dir(path))+filepath.Base(path))}
		file, err := private.Open(c.path, os.O_RDWR)
		if err != nil {
			continue
		}
		if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
			_ = file.Close()
			continue
		}
		c.file = file
		_ = c.giveUp()
	}
}
