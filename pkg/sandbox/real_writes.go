package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/guard"
	journals "github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/scope"
)

// revertTime bounds the taking back of what was written, for each VM: a guest that boots is not waited for, a task is. To look
// at a VM, where it is, and what it does takes a dozen calls, each of which may take half a minute.
const revertTime = 10 * time.Minute

// The journal lies beside the instance's directory, which is emptied where a sandbox has died: what was written to somebody's
// vCenter must be known then above all.
func journalFile(dir string) string { return dir + ".writes.jsonl" }

// settingsFile says how to reach the vCenters of the journal; it holds no secret.
func settingsFile(dir string) string { return dir + ".writes.json" }

// Writes are what a sandbox has written to real vCenters and not taken back: it has died, or could not.
type Writes struct {
	// Source is the file of the vCenters' configuration; empty for the environment.
	Source string `json:"source,omitempty"`
	// Scope is what might be written to.
	Scope scope.Scope `json:"scope"`
	// Keep says that they were to be kept: they are not to be taken back.
	Keep bool `json:"keep,omitempty"`
	// Pending are the writes, the newest first.
	Pending []journals.Entry `json:"-"`

	dir string
}

// LeftWrites reads what the sandbox of an instance directory, which need not be there any more, has left at real vCenters; nil
// when that is nothing, and then the journal goes, too. It is an error when that sandbox runs: [journals.ErrInUse].
func LeftWrites(dir string) (*Writes, error) {
	if err := instance.Check(filepath.Dir(dir)); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(journalFile(dir)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	j, err := journals.Open(journalFile(dir))
	if err != nil {
		return nil, err
	}
	w := &Writes{dir: dir, Pending: j.Pending()}
	if len(w.Pending) == 0 {
		return nil, removeWrites(j, dir)
	}
	return w, errors.Join(w.read(), j.Close())
}

// read reads the settings. The journal is open.
func (w *Writes) read() error {
	data, err := private.ReadFile(settingsFile(w.dir))
	if err == nil {
		err = json.Unmarshal(data, w)
	}
	if err != nil {
		return fmt.Errorf("what was written to real vCenters: %w", err)
	}
	return nil
}

// Forget leaves the VMs as they are: nobody is to take that back any more.
func (w *Writes) Forget() error {
	j, err := journals.Open(journalFile(w.dir))
	if err != nil {
		return err
	}
	return removeWrites(j, w.dir)
}

// Words says of a write what the VM is to be again, for people.
func (w *Writes) Words(e journals.Entry) string {
	return fmt.Sprintf("vcenter %q: %s: %s", e.VCenter, e.VM, guard.Words(e.Undo))
}

// Revert takes it back: each VM is looked at first, has to be the one that was written to, and in the scope. It may be
// interrupted, and called again for the rest. config is that of Source.
func (w *Writes) Revert(ctx context.Context, config *vcenter.Config) error {
	j, err := journals.Open(journalFile(w.dir))
	if err != nil {
		return err
	}
	connections := map[string]*vcenter.Connection{}
	defer func() {
		for _, c := range connections {
			c.Close()
		}
	}()
	var errs []error
	for _, v := range (&Real{Config: config}).named() {
		c, err := v.Connect(ctx, vcenter.Options{UserAgent: userAgent})
		if err != nil {
			errs = append(errs, err) // others may be there
			continue
		}
		connections[v.Name] = c
	}
	err = guard.Revert(ctx, j, w.Scope, connections)
	if w.Pending = j.Pending(); len(w.Pending) == 0 {
		return errors.Join(err, removeWrites(j, w.dir))
	}
	return errors.Join(append(errs, err, j.Close())...)
}

// removeWrites removes the journal, which is open, and what goes with it; the journal last, and let go of only then, so that
// nobody's that is made meanwhile is removed.
func removeWrites(j *journals.Journal, dir string) error {
	err := os.Remove(settingsFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, j.Remove())
}

// openWrites opens the journal where something may be written, or was.
func (s *Sandbox) openWrites() error {
	dir, real := s.opts.Dir.Path(), s.opts.Real
	left, err := LeftWrites(dir)
	switch {
	case err != nil:
		return err
	case left != nil && left.Keep:
		if err := left.Forget(); err != nil {
			return err
		}
		s.kept(len(left.Pending))
	case left != nil && !real.Scope.AllowWrites:
		return fmt.Errorf("an earlier sandbox of this name has left %d writes to real VMs, the last %s: take them back first (vsphere-sandbox down --name %s)",
			len(left.Pending), left.Pending[0].VM, s.opts.Name)
	}
	if !real.Scope.AllowWrites {
		return nil
	}
	if s.real.journal, err = journals.Open(journalFile(dir)); err != nil || len(s.real.journal.Pending()) > 0 {
		return err // what is pending is of another scope, until it is taken back
	}
	return s.noteSettings()
}

// noteSettings keeps what those need to know who take back what this sandbox is going to write.
func (s *Sandbox) noteSettings() error {
	real := s.opts.Real
	data, err := json.Marshal(Writes{Source: real.Source, Scope: real.Scope, Keep: real.Keep})
	if err != nil {
		return err
	}
	s.real.own = true
	return atomicfile.WriteFile(settingsFile(s.opts.Dir.Path()), data, 0o600)
}

// kept tells that writes stay, as was wanted.
func (s *Sandbox) kept(n int) {
	s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: event.Warning, Kind: "vcenter.kept", Message: fmt.Sprintf("%d writes to real VMs are kept", n),
	})
}

// revertLeft takes back what an earlier sandbox of this name has left. The scope has to allow it still.
func (s *Sandbox) revertLeft(ctx context.Context) error {
	if s.real.journal == nil || len(s.real.journal.Pending()) == 0 {
		return nil
	}
	n := len(s.real.journal.Pending())
	if err := guard.Revert(ctx, s.real.journal, s.opts.Real.Scope, s.real.connections); err != nil {
		return fmt.Errorf("take back what an earlier sandbox has written to real VMs: %w", err)
	}
	s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: event.Warning, Kind: "vcenter.reverted",
		Message: fmt.Sprintf("an earlier sandbox of this name had left %d writes to real VMs: they are taken back", n),
	})
	return s.noteSettings()
}

// machines is how many VMs were written to.
func machines(writes []journals.Entry) int {
	type vm struct{ vcenter, ref string }
	all := map[vm]bool{}
	for _, e := range writes {
		all[vm{e.VCenter, e.Ref.Value}] = true
	}
	return len(all)
}

// closeWrites takes back what was written, unless it is to be kept, and closes the journal.
func (s *Sandbox) closeWrites() error {
	j := s.real.journal
	if j == nil {
		return nil
	}
	var err error
	keep := s.opts.Real.Keep && s.real.own // what is an earlier one's was not to be kept
	if n := len(j.Pending()); n > 0 && !keep {
		s.boot.Detail(fmt.Sprintf("%d writes to real VMs are taken back", n))
		ctx, cancel := context.WithTimeout(context.Background(), revertTime*time.Duration(machines(j.Pending())))
		err = guard.Revert(ctx, j, s.opts.Real.Scope, s.real.connections)
		cancel()
	}
	left := len(j.Pending())
	if left > 0 && !keep {
		if err == nil { // it was written after it had been asked what there is
			err = errors.New("something was written meanwhile")
		}
		return errors.Join(fmt.Errorf("%d writes to real VMs are not taken back (vsphere-sandbox down --name %s tries again): %w", left, s.opts.Name, err), j.Close())
	}
	if left > 0 {
		s.kept(left) // and nobody is to take them back later: that was said when the sandbox began
	}
	return errors.Join(err, removeWrites(j, s.opts.Dir.Path()))
}
