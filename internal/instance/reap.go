package instance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
)

// reapPatience is how long killed processes may take to go away.
const reapPatience = 10 * time.Second

// Report says what was found of a dead sandbox.
type Report struct {
	Name string

	// Killed are the processes that were still alive and have been killed. The
	// members of a child's process group have the child's name.
	Killed []Process

	// Unproven are the processes of the journal whose pid is in use by a process
	// that could not be proven to be the sandbox's.
	Unproven []Process

	// Removed is set if there were files, which were removed.
	Removed bool
}

// dead returns the directory of a sandbox that does not run, with its lock. The error is an ErrRunning if the sandbox
// lives, and an ErrNotFound if no sandbox has that name.
func dead(root, name string) (*Dir, error) {
	path, err := resolve(root, name)
	if err != nil {
		return nil, err
	}
	lock, err := acquire(path, name, toClean)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrForeign) {
		return nil, notFound(root, name)
	}
	if err != nil {
		return nil, err
	}
	return &Dir{name: name, path: path, lock: lock}, nil
}

// ReapProcesses ends the processes that a dead sandbox has left, as [Reap] does, and keeps its files, which show why it died: its
// record then says Settled. The errors are those of Reap.
func ReapProcesses(ctx context.Context, root, name string) (Report, error) {
	d, err := dead(root, name)
	if err != nil {
		return Report{}, err
	}
	report, err := end(ctx, d.path, name)
	if err == nil {
		record, unread := readRecord(d.path) // one that died before it wrote it has none
		if unread != nil {
			record = Record{Name: name}
		}
		record.ProcessesReaped = true
		err = d.WriteRecord(record)
	}
	if err := errors.Join(err, d.Close()); err != nil {
		return report, fmt.Errorf("sandbox %q: %w", name, err)
	}
	return report, nil
}

// Reap cleans up after a dead sandbox: it kills every live process of its journal that names the instance directory in
// its command line or environment, with its process group, and then removes the directory. The error is an ErrRunning if
// the sandbox lives, and an ErrNotFound if no sandbox has that name. Any number of processes may call it, and Create the
// sandbox again, at once.
func Reap(ctx context.Context, root, name string) (Report, error) {
	d, err := dead(root, name)
	if err != nil {
		return Report{}, err
	}
	report, err := clean(ctx, d.path, name)
	if err != nil {
		return report, errors.Join(fmt.Errorf("sandbox %q: %w", name, err), d.Close())
	}
	report.Removed = true
	return report, d.Remove()
}

// ReapAll reaps every dead sandbox below root and returns what was found of
// each. One that cannot be cleaned up does not keep it from the others.
func ReapAll(ctx context.Context, root string) ([]Report, error) {
	entries, err := List(root)
	if err != nil {
		return nil, err
	}
	var reports []Report
	var errs []error
	for _, entry := range entries {
		if entry.Running {
			continue
		}
		report, err := Reap(ctx, root, entry.Name)
		if errors.As(err, new(ErrRunning)) || errors.As(err, new(ErrNotFound)) {
			continue // another process was faster
		}
		reports, errs = append(reports, report), append(errs, err)
	}
	return reports, errors.Join(errs...)
}

// clean kills what is left of the sandbox whose directory is at path and
// empties the directory. The caller has the lock.
func clean(ctx context.Context, path, name string) (Report, error) {
	report, err := end(ctx, path, name)
	if err != nil {
		return report, err
	}
	if report.Removed, err = empty(path); err != nil {
		return report, err
	}
	if len(report.Killed)+len(report.Unproven) == 0 && !report.Removed {
		return Report{}, nil
	}
	return report, nil
}

// end kills what is left of the sandbox whose directory is at path. The caller has the lock.
func end(ctx context.Context, path, name string) (Report, error) {
	clearClaim(path)
	report := Report{Name: name}
	journaled, err := readJournal(filepath.Join(path, journalName))
	if err != nil {
		return report, err
	}
	return report, report.kill(ctx, path, journaled)
}

// kill ends the journaled processes and waits until they are gone.
func (r *Report) kill(ctx context.Context, path string, journaled []Process) error {
	if len(journaled) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, reapPatience)
	defer cancel()
	running, err := processes(ctx)
	if err != nil {
		return fmt.Errorf("process list: %w", err)
	}
	self := os.Getpid()
	var doomed []observed
	for _, p := range journaled {
		members, stranger := group(running, p)
		if stranger {
			r.Unproven = append(r.Unproven, p)
			continue
		}
		for _, m := range members {
			member := Process{Name: p.Name, PID: m.pid, Start: m.start}
			if m.pid == self || !m.names(ctx, path) {
				r.Unproven = append(r.Unproven, member)
				continue
			}
			if err := m.kill(); err != nil {
				return fmt.Errorf("%s: process %d: %w", p.Name, m.pid, err)
			}
			r.Killed = append(r.Killed, member)
			doomed = append(doomed, m)
		}
	}
	return awaitGone(ctx, doomed)
}

// group returns the running processes of p's process group, p among them.
// Stranger says that the pid is another process's by now: the group is, too.
func group(running []observed, p Process) (members []observed, stranger bool) {
	for _, r := range running {
		if r.pid == p.PID && p.Start != "" && r.start != p.Start {
			return nil, true
		}
		if r.pid == p.PID || r.pgid == p.PID {
			members = append(members, r)
		}
	}
	return members, false
}

// awaitGone waits for the end of processes that are not ours to wait for, so
// there is nothing to do but to look.
func awaitGone(ctx context.Context, doomed []observed) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for _, p := range doomed {
		for p.alive() {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return fmt.Errorf("process %d is still there after SIGKILL: %w", p.pid, ctx.Err())
			}
		}
	}
	return nil
}

// Process is a child of a sandbox.
type Process struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`

	// Start distinguishes the process from a later one with the same pid, in a form of the system; empty if it has none.
	Start string `json:"start,omitempty"`
}

// Journal is the list of the processes that a sandbox has started, kept on disk so that a later command can end them
// after the sandbox was killed. It may be used from any goroutine.
type Journal struct {
	path  string
	owned func() error
	mu    sync.Mutex
}

// entry is a line of the journal. A process is alive when its last entry is
// not Exited.
type entry struct {
	Process
	Exited bool `json:"exited,omitempty"`
}

// Started records a new process: at once, since an unrecorded one is not cleaned up. It must lead a
// process group, which is cleaned up as a whole.
func (j *Journal) Started(name string, pid int) error {
	return j.append(entry{Process: Process{Name: name, PID: pid, Start: startOf(pid)}})
}

// Exited notes that a process has ended and been reaped.
func (j *Journal) Exited(name string, pid int) error {
	return j.append(entry{Process: Process{Name: name, PID: pid}, Exited: true})
}

func (j *Journal) append(e entry) error {
	if err := j.owned(); err != nil {
		return err
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	file, err := private.Open(j.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	// The newline comes first too, so that a line cut short by a full disk does
	// not spoil the next one.
	_, err = file.Write(append(append([]byte("\n"), line...), '\n'))
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// readJournal returns the processes that have been started and, as far as the
// journal goes, not ended. Lines it cannot read were cut short.
func readJournal(path string) ([]Process, error) {
	text, err := private.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	alive := map[int]Process{}
	var order []int
	for line := range bytes.Lines(text) {
		var e entry
		if json.Unmarshal(line, &e) != nil || e.PID <= 1 {
			continue
		}
		if e.Exited {
			delete(alive, e.PID)
			continue
		}
		alive[e.PID] = e.Process
		order = append(order, e.PID)
	}
	var processes []Process
	for _, pid := range order {
		if p, ok := alive[pid]; ok {
			processes = append(processes, p)
			delete(alive, pid)
		}
	}
	return processes, nil
}
