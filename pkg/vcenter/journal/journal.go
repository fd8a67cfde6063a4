package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
)

// Journal is an open file. It is safe for concurrent use; create one with [Open].
type Journal struct {
	name string

	mu      sync.Mutex
	file    *os.File
	size    int64 // of whole lines
	last    int
	pending []Entry
	broken  error
}

// ErrInUse means that another process has the journal open.
var ErrInUse = errors.New("is open in another process")

// Open opens a journal, or creates one that only its owner can read. It fails with [ErrInUse] if another process has it open.
// [Journal.Pending] returns what an earlier process did not revert.
func Open(name string) (*Journal, error) {
	for {
		file, err := private.Open(name, os.O_RDWR|os.O_CREATE|os.O_APPEND)
		if err != nil {
			return nil, fmt.Errorf("journal: %w", err)
		}
		j := &Journal{name: name, file: file}
		err = j.load()
		if errors.Is(err, errRemoved) {
			_ = file.Close() // it is empty
			continue
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("journal: %s%w", name, err), file.Close())
		}
		return j, nil
	}
}

// errRemoved means that a file was removed between its opening and its locking, so that writes to it would be lost.
var errRemoved = errors.New("removed")

// Read returns the pending writes of a journal, newest first, without opening it for writing: another process may use it.
func Read(name string) ([]Entry, error) {
	data, err := private.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	j := &Journal{name: name}
	if _, err := j.parse(data); err != nil {
		return nil, fmt.Errorf("journal: %s%w", name, err)
	}
	return j.Pending(), nil
}

// load reads the file. It removes a last line that a crash has truncated: either its action was not started, or it is a note
// whose action can be repeated.
func (j *Journal) load() error {
	if err := syscall.Flock(int(j.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf(": %w: %w", ErrInUse, err)
	}
	info, err := j.file.Stat()
	if err != nil {
		return fmt.Errorf(": %w", err)
	}
	if there, err := os.Stat(j.name); err != nil || !os.SameFile(info, there) {
		return errRemoved
	}
	data, err := io.ReadAll(j.file)
	if err != nil {
		return fmt.Errorf(": %w", err)
	}
	if j.size, err = j.parse(data); err != nil {
		return err
	}
	if err := j.file.Truncate(j.size); err != nil {
		return fmt.Errorf(": %w", err)
	}
	if err := syncDir(filepath.Dir(j.name)); err != nil {
		return fmt.Errorf(": %w", err)
	}
	return nil
}

// parse reads the whole lines of a file, and returns their size.
func (j *Journal) parse(data []byte) (int64, error) {
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	number := 0
	for one := range bytes.Lines(data) {
		number++
		if err := j.apply(one); err != nil {
			return 0, fmt.Errorf(":%d: %w", number, err)
		}
	}
	return int64(len(data)), nil
}

// syncDir makes the name of a new file survive a crash.
func syncDir(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Close releases the file: another process may open it then. It waits only for the line that is being written: the end of a
// running write is not recorded.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	// A child process that is being started has the descriptor, too: closing is not enough.
	return errors.Join(syscall.Flock(int(j.file.Fd()), syscall.LOCK_UN), j.file.Close())
}

// Remove removes the file before it releases it: another process that opens a journal with that name gets a new file.
func (j *Journal) Remove() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := os.Remove(j.name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, j.file.Close())
}

// Pending returns the writes that were not reverted, newest first, including failed ones: a call whose answer was lost may have
// been executed.
func (j *Journal) Pending() []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := slices.Clone(j.pending)
	slices.Reverse(all)
	return all
}

// Write writes the entry to disk, and then calls do. The error is do's, or the journal's, if do was not called.
func (j *Journal) Write(ctx context.Context, e Entry, do func(context.Context) error) error {
	if err := errors.Join(e.check(), ctx.Err()); err != nil {
		return err
	}
	seq, err := j.intend(e)
	if err != nil {
		return err
	}
	if err := do(ctx); err != nil {
		return errors.Join(err, j.note(line{Failed: seq, Why: err.Error()}))
	}
	return j.note(line{Done: seq})
}

func (j *Journal) intend(e Entry) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Seq, e.Time = j.last+1, time.Now().UTC()
	if err := j.append(line{Entry: &e}); err != nil {
		return 0, err
	}
	j.last = e.Seq
	j.pending = append(j.pending, e)
	return e.Seq, nil
}

func (j *Journal) note(l line) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.append(l)
}

// append writes a line to disk completely or not at all; after an uncertain result the journal refuses further lines.
func (j *Journal) append(l line) error {
	if j.broken != nil {
		return j.broken
	}
	data, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	_, err = j.file.Write(append(data, '\n'))
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		err = fmt.Errorf("journal: %w", err)
		if cut := j.file.Truncate(j.size); cut != nil {
			j.broken = errors.Join(err, cut)
		}
		return err
	}
	j.size += int64(len(data)) + 1
	return nil
}

// forget drops a pending entry. The caller holds the lock, or the journal is not shared yet.
func (j *Journal) forget(seq int) {
	j.pending = slices.DeleteFunc(j.pending, func(e Entry) bool { return e.Seq == seq })
}

// Revert reverts the pending writes, newest first. If an undo fails, older writes to the same VM stay pending, because their
// expected state is missing; other VMs are not affected. It ends early with ctx. It does not revert a write twice, except one
// during whose undo it was interrupted.
func (j *Journal) Revert(ctx context.Context, undo func(context.Context, Entry) error) error {
	type vm struct {
		vcenter string
		ref     types.ManagedObjectReference
	}
	var (
		errs  []error
		stuck = map[vm]bool{}
	)
	for _, e := range j.Pending() {
		if ctx.Err() != nil {
			return errors.Join(append(errs, context.Cause(ctx))...)
		}
		if stuck[vm{e.VCenter, e.Ref}] {
			continue
		}
		err := undo(ctx, e)
		if err == nil {
			err = j.reverted(e.Seq)
		}
		if err != nil {
			stuck[vm{e.VCenter, e.Ref}] = true
			errs = append(errs, fmt.Errorf("vcenter %q: %s: %s: %w", e.VCenter, e.VM, e.Undo.Kind, err))
		}
	}
	return errors.Join(errs...)
}

func (j *Journal) reverted(seq int) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.append(line{Reverted: seq}); err != nil {
		return err
	}
	j.forget(seq)
	return nil
}

// Action is a change of a VM. The caller defines Kind ("power-off") and its parameters With. An undo must be idempotent, also
// without anything to undo: it describes a state, not a change.
type Action struct {
	Kind string            `json:"kind"`
	With map[string]string `json:"with,omitempty"`
}

// Entry is a write.
type Entry struct {
	// Seq counts from 1; Journal.Write sets it, and Time.
	Seq  int       `json:"seq"`
	Time time.Time `json:"time"`
	// VCenter is the name of the vCenter, Ref the VM there, VM its path, for users.
	VCenter string                       `json:"vcenter"`
	Ref     types.ManagedObjectReference `json:"ref"`
	VM      string                       `json:"vm"`
	// InstanceUUID is the VM's. vCenters reuse references, so a late undo must check that Ref is still this VM. Empty if unknown.
	InstanceUUID string `json:"instanceUUID,omitempty"`
	// Do is the change, Undo reverts it.
	Do   Action `json:"do"`
	Undo Action `json:"undo"`
}

func (e *Entry) check() error {
	if e.VCenter == "" || e.Ref.Value == "" || e.Do.Kind == "" || e.Undo.Kind == "" {
		return errors.New("journal: an entry needs vCenter, VM, what is done and what takes it back")
	}
	return nil
}

// line is a line of the file: an entry before its action, or a later result.
type line struct {
	*Entry `json:",omitempty"`
	Done   int    `json:"done,omitempty"`
	Failed int    `json:"failed,omitempty"`
	Why    string `json:"why,omitempty"`
	// Reverted is the number of a reverted entry.
	Reverted int `json:"reverted,omitempty"`
}

// apply applies a line.
func (j *Journal) apply(data []byte) error {
	var l line
	if err := json.Unmarshal(data, &l); err != nil {
		return err
	}
	switch {
	case l.Entry != nil && l.Entry.Seq > 0:
		if l.Seq <= j.last {
			return fmt.Errorf("entry %d comes after entry %d", l.Seq, j.last)
		}
		j.last = l.Seq
		j.pending = append(j.pending, *l.Entry)
	case l.Reverted > 0:
		j.forget(l.Reverted)
	case l.Done > 0, l.Failed > 0:
	default:
		return errors.New("is no line of a journal")
	}
	return nil
}
