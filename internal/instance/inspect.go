package instance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
)

// inspect returns an error unless path is an instance directory of this user:
// one with a lock file of ours, or one so new that it has nothing but its lock,
// still empty, in it. With toRun an empty directory will do. It keeps a state
// root set to, say, the home directory from doing harm.
func inspect(path string, why purpose) error {
	if err := private.Dir(path); err != nil {
		return err
	}
	lock, err := os.Lstat(filepath.Join(path, lockName))
	switch {
	case err == nil && lock.Mode().IsRegular() && lock.Size() == int64(lockLength):
		if text, err := private.ReadFile(filepath.Join(path, lockName)); err != nil {
			return err
		} else if strings.HasPrefix(string(text), "vsphere-sandbox ") {
			return nil
		}
	case err == nil && lock.Mode().IsRegular() && lock.Size() == 0:
		return onlyLock(path)
	case os.IsNotExist(err) && why == toRun:
		return onlyLock(path)
	}
	return fmt.Errorf("%s: %w", path, ErrForeign)
}

// onlyLock returns an error when the directory has something beside its lock.
func onlyLock(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() != lockName {
			// A sandbox may have come to life since the lock was looked at.
			if _, why := holder(path); why != "" {
				return nil
			}
			return fmt.Errorf("%s: %w", path, ErrForeign)
		}
	}
	return nil
}

// observed is a process found running on this machine.
type observed struct {
	pid, pgid int
	start     string // as in Process.Start
	text      string //nolint:unused // command line and environment, where they come with the list: not on Linux
}

// mentions reports whether text has path in it as a path: not as the beginning of a longer name (/state/a in /state/ab)
// nor as the end of a longer path (/state/a in /backup/state/a).
func mentions(text, path string) bool {
	for rest, before := text, byte(0); ; {
		i := strings.Index(rest, path)
		if i < 0 {
			return false
		}
		if i > 0 {
			before = rest[i-1]
		}
		after := byte(0)
		if i+len(path) < len(rest) {
			after = rest[i+len(path)]
		}
		if !inName(before) && !inName(after) {
			return true
		}
		before, rest = rest[i], rest[i+1:]
	}
}

// inName reports whether c would continue the name of a file.
func inName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' || c >= 0x80
}

// lostTick is how often a sandbox looks whether its directory is there: soon enough for the user who removed it to wait, and
// seldom enough to cost nothing.
const lostTick = time.Second

// AwaitRemoval returns true once the directory has been removed under its owner, with its lock at least; false when ctx ends
// first. The owner is then to end: nothing in the state root says any more that it runs. Owner only.
func (d *Dir) AwaitRemoval(ctx context.Context) bool {
	for tick := time.NewTicker(lostTick); ; {
		if d.lost() {
			tick.Stop()
			return true
		}
		d.remember()
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return false
		}
	}
}

// lost reports that the lock which the owner holds is not that of the directory any more.
func (d *Dir) lost() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lock != nil && !sameFile(d.lock, filepath.Join(d.path, lockName))
}

// remember takes down what the owner's processes have put into the directory.
func (d *Dir) remember() {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lock == nil || !sameFile(d.lock, filepath.Join(d.path, lockName)) {
		return // it may be another's by now
	}
	if d.seen == nil {
		d.seen = map[string]bool{}
	}
	for _, e := range entries {
		d.seen[e.Name()] = true
	}
}

// removeLost removes what the owner's processes have made again of a directory that was removed under them: a log, a
// directory of a kubelet. It leaves a directory alone that has a lock, or anything that had not been in the owner's.
// The caller has d.mu.
func (d *Dir) removeLost() error {
	if dir := shortDir(d.path); trusted(dir) == nil { // the note that names it is gone
		if err := emptyShortDir(dir); err != nil {
			return err
		}
		_ = os.Remove(dir)
	}
	if err := private.Dir(d.path); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == lockName || !d.seen[e.Name()] {
			return nil
		}
	}
	if _, err := empty(d.path); err != nil {
		return err
	}
	return os.Remove(d.path)
}

// zombiePatience is how long a process that has ended may wait for its parent to take note. Some inits of containers and small
// virtual machines only look every second or so, and some never do.
const zombiePatience = 2 * time.Second

// Observe returns the running process of that number, with its start where the system has it.
func Observe(pid int) Process { return Process{PID: pid, Start: startOf(pid)} }

// AwaitExit waits until a process of [Observe] is gone, from the list of processes, too. It does not kill it; the error is
// that of ctx.
func AwaitExit(ctx context.Context, p Process) error {
	if p.PID <= 0 {
		return nil
	}
	was := observed{pid: p.PID, start: p.Start}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var ended time.Time
	for {
		switch {
		case errors.Is(unix.Kill(p.PID, 0), unix.ESRCH):
			return nil
		case was.alive() && p.Start != "":
			ended = time.Time{}
		case p.Start == "": // it cannot be distinguished from a later one, nor from a zombie
		case startOf(p.PID) != "": // another process has the number by now
			return nil
		case ended.IsZero():
			ended = time.Now()
		case time.Since(ended) > zombiePatience:
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("process %d has not ended: %w", p.PID, context.Cause(ctx))
		}
	}
}
