package real

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/guard"
	journals "github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/scope"
)

// revertTime bounds the revert for each VM: it waits for a task, not for a guest that boots. It sends a dozen requests for a
// VM, and each may take half a minute.
const revertTime = 10 * time.Minute

// The journal is beside the directory of the instance, not in it: the directory is emptied after a crash, and that is when
// the journal is needed.
func journalFile(dir string) string { return dir + ".writes.jsonl" }

// settingsFile has the configuration of the vCenters of the journal, without secrets.
func settingsFile(dir string) string { return dir + ".writes.json" }

// Writes are what a sandbox has written to real vCenters and not reverted, because it crashed or the revert failed.
type Writes struct {
	// Source is the file of the vCenters' configuration; empty for the environment.
	Source string `json:"source,omitempty"`
	// Scope is what was writable.
	Scope scope.Scope `json:"scope"`
	// Keep: they must not be reverted.
	Keep bool `json:"keep,omitempty"`
	// Pending are the writes, the newest first.
	Pending []journals.Entry `json:"-"`

	dir string
}

// LeftWrites reads what the sandbox of an instance directory has left in real vCenters. The directory may be gone. It returns
// nil when there is nothing, and removes the journal then. For a sandbox that runs it returns [journals.ErrInUse].
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

// Forget leaves the VMs as they are and removes the journal.
func (w *Writes) Forget() error {
	j, err := journals.Open(journalFile(w.dir))
	if err != nil {
		return err
	}
	return removeWrites(j, w.dir)
}

// Describe describes the state of the VM after the revert of a write.
func (w *Writes) Describe(e journals.Entry) string {
	return fmt.Sprintf("vcenter %q: %s: %s", e.VCenter, e.VM, guard.DescribeVM(e.Undo))
}

// Revert reverts the writes. Each VM is read first: it must be the one that was written to, and in the scope. When Revert is
// interrupted, a second call reverts the rest. config is that of Source.
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
	for _, v := range named(config) {
		c, err := v.Connect(ctx, vcenter.Options{UserAgent: vcenters.UserAgent})
		if err != nil {
			errs = append(errs, err) // another vCenter may be up
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

// removeWrites removes the settings and the open journal. The journal is removed last, and its lock is released after that, so
// that a journal that another process creates is not removed.
func removeWrites(j *journals.Journal, dir string) error {
	err := os.Remove(settingsFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, j.Remove())
}

// openWrites opens the journal where writes are allowed or an earlier sandbox has left some.
func (s *Source) openWrites() (err error) {
	dir := s.boot.Dir
	left, err := LeftWrites(dir)
	switch {
	case err != nil:
		return err
	case left != nil && left.Keep:
		if err := left.Forget(); err != nil {
			return err
		}
		s.kept(len(left.Pending))
	case left != nil && !s.Scope.AllowWrites:
		return fmt.Errorf("an earlier sandbox of this name has left %d writes to real VMs, the last %s: take them back first (vsphere-sandbox down --name %s)",
			len(left.Pending), left.Pending[0].VM, s.boot.Name)
	}
	if !s.Scope.AllowWrites {
		return nil
	}
	if s.journal, err = journals.Open(journalFile(dir)); err != nil || len(s.journal.Pending()) > 0 {
		return err // the settings of pending writes stay until these are reverted
	}
	return s.noteSettings()
}

// noteSettings saves what a revert by another process needs.
func (s *Source) noteSettings() error {
	data, err := json.Marshal(Writes{Source: s.Options.Source, Scope: s.Scope, Keep: s.Keep})
	if err != nil {
		return err
	}
	s.own = true
	return atomicfile.WriteFile(settingsFile(s.boot.Dir), data, 0o600)
}

// kept logs that writes stay, as --keep-writes demands.
func (s *Source) kept(n int) {
	s.boot.Log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: event.Warning, Kind: "vcenter.kept", Message: fmt.Sprintf("%d writes to real VMs are kept", n),
	})
}

// revertLeft reverts what an earlier sandbox of this name has left. The present scope must allow it.
func (s *Source) revertLeft(ctx context.Context) error {
	if s.journal == nil || len(s.journal.Pending()) == 0 {
		return nil
	}
	n := len(s.journal.Pending())
	if err := guard.Revert(ctx, s.journal, s.Scope, s.connections); err != nil {
		return fmt.Errorf("take back what an earlier sandbox has written to real VMs: %w", err)
	}
	s.boot.Log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: event.Warning, Kind: "vcenter.reverted",
		Message: fmt.Sprintf("an earlier sandbox of this name had left %d writes to real VMs: they are taken back", n),
	})
	return s.noteSettings()
}

// countVMs returns how many VMs were written to.
func countVMs(writes []journals.Entry) int {
	type vm struct{ vcenter, ref string }
	all := map[vm]bool{}
	for _, e := range writes {
		all[vm{e.VCenter, e.Ref.Value}] = true
	}
	return len(all)
}

// closeWrites reverts what was written, unless it must be kept, and closes the journal.
func (s *Source) closeWrites() error {
	j := s.journal
	if j == nil {
		return nil
	}
	var err error
	keep := s.Keep && s.own // --keep-writes is not about the writes of an earlier sandbox
	if n := len(j.Pending()); n > 0 && !keep {
		s.boot.Detail(fmt.Sprintf("%d writes to real VMs are taken back", n))
		ctx, cancel := context.WithTimeout(context.Background(), revertTime*time.Duration(countVMs(j.Pending())))
		err = guard.Revert(ctx, j, s.Scope, s.connections)
		cancel()
	}
	left := len(j.Pending())
	if left > 0 && !keep {
		if err == nil { // a write came after the revert had read the journal
			err = errors.New("something was written at the same time")
		}
		return errors.Join(fmt.Errorf("%d writes to real VMs are not taken back (vsphere-sandbox down --name %s tries again): %w", left, s.boot.Name, err), j.Close())
	}
	if left > 0 {
		s.kept(left)
	}
	return errors.Join(err, removeWrites(j, s.boot.Dir))
}

// Unreverted returns, by name, the sandboxes below a state directory that have written to real vCenters, with the number of
// writes that are not reverted. It includes sandboxes that run and those without a directory.
func Unreverted(root string) (map[string]int, error) {
	if err := instance.Check(root); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := map[string]int{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), journalFile(""))
		if !ok || name == "" {
			continue
		}
		pending, err := journals.Read(filepath.Join(root, e.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		w := Writes{dir: filepath.Join(root, name)}
		if len(pending) == 0 || w.read() == nil && w.Keep {
			continue
		}
		all[name] = len(pending)
	}
	return all, nil
}
