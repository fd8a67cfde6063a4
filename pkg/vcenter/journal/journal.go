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

// Journal is an open file. It may be used from any goroutine; make one with [Open].
type Journal struct {
	name string

	mu      sync.Mutex
	file    *os.File
	size    int64 // of what is whole
	last    int
	pending []Entry
	broken  error
}

// ErrInUse says that another process has the journal open.
var ErrInUse = errors.New("is open in another process")

// Open opens a journal, and makes one for its owner's eyes only where there is none. No other process may have it open
// ([ErrInUse]). What another run has left to be taken back is in [Journal.Pending].
func Open(name string) (*Journal, error) {
	for {
		file, err := private.Open(name, os.O_RDWR|os.O_CREATE|os.O_APPEND)
		if err != nil {
			return nil, fmt.Errorf("journal: %w", err)
		}
		j := &Journal{name: name, file: file}
		err = j.load()
		if errors.Is(err, errRemoved) {
			_ = file.Close() // nothing is in it that anybody could find
			continue
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("journal: %s%w", name, err), file.Close())
		}
		return j, nil
	}
}

// errRemoved says that a file was removed between its opening and its locking: what is written to it nobody finds.
var errRemoved = errors.New("removed")

// Read returns what is pending in the journal of that name, the newest first, and leaves the file alone: whoever has it open
// may continue.
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

// load reads the file. A last line without its end was cut by a crash before anything was done that it speaks of, or after
// something that bears being done again: it is taken away.
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

// parse takes in what is whole of a file, and returns how many bytes that is.
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

// syncDir has the name of a new file survive a crash, too.
func syncDir(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Close lets go of the file: when it returns, another may have it. It waits for the line that is being written, and no longer:
// of a write that is still under way nobody notes any more how it ended.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	// A child that is being started has the descriptor, too, until it is another program: closing alone is not enough.
	return errors.Join(syscall.Flock(int(j.file.Fd()), syscall.LOCK_UN), j.file.Close())
}

// Remove removes the file, and lets go of it only then: whoever opens a journal of that name meanwhile gets another one, and
// not the one that is gone.
func (j *Journal) Remove() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := os.Remove(j.name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, j.file.Close())
}

// Pending are the writes that are not taken back, the newest first. Those that failed are among them: a call whose answer
// was lost may have been carried out.
func (j *Journal) Pending() []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := slices.Clone(j.pending)
	slices.Reverse(all)
	return all
}

// Write notes the entry, has it on the disk, and only then calls do. The error is do's, or the journal's, with which
// nothing was done.
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

// append puts a line on the disk, whole or not at all; a journal of which that is not sure takes no more.
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

// forget drops a pending entry. The lock is held, or the journal not yet anybody's.
func (j *Journal) forget(seq int) {
	j.pending = slices.DeleteFunc(j.pending, func(e Entry) bool { return e.Seq == seq })
}

// Revert takes back what is pending, the newest first. Where an undo fails, the older writes to the same VM wait for
// another Revert, as they would meet a state that they do not know; other VMs do not. It ends early with ctx. What has
// been taken back is not again, whenever it was interrupted, but for the one undo that it was interrupted in.
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

// Action is something to do to a VM. Kind is a word of the caller's ("power-off"), With what it needs. An action that is
// an undo has to bear being done twice, and being done where there is nothing to undo: it says what is to be, not what to
// change.
type Action struct {
	Kind string            `json:"kind"`
	With map[string]string `json:"with,omitempty"`
}

// Entry is one write.
type Entry struct {
	// Seq counts from 1; Journal.Write sets it, and Time.
	Seq  int       `json:"seq"`
	Time time.Time `json:"time"`
	// VCenter is the name of the vCenter, Ref the VM there, VM its path, for people.
	VCenter string                       `json:"vcenter"`
	Ref     types.ManagedObjectReference `json:"ref"`
	VM      string                       `json:"vm"`
	// InstanceUUID is the VM's. References are numbered again in every vCenter: who takes something back after a while looks
	// first whether Ref is still this VM. Empty where it was not known.
	InstanceUUID string `json:"instanceUUID,omitempty"`
	// Do is what is done, Undo what takes it back.
	Do   Action `json:"do"`
	Undo Action `json:"undo"`
}

func (e *Entry) check() error {
	if e.VCenter == "" || e.Ref.Value == "" || e.Do.Kind == "" || e.Undo.Kind == "" {
		return errors.New("journal: an entry needs vCenter, VM, what is done and what takes it back")
	}
	return nil
}

// line is a line of the file: an entry before it is done, or what became of one.
type line struct {
	*Entry `json:",omitempty"`
	Done   int    `json:"done,omitempty"`
	Failed int    `json:"failed,omitempty"`
	Why    string `json:"why,omitempty"`
	// Reverted says that the entry of that number is taken back.
	Reverted int `json:"reverted,omitempty"`
}

// apply takes a line in.
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
