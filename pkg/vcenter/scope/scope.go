package scope

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
)

// Scope defines the VMs that may be written to. The zero value allows none.
type Scope struct {
	// AllowWrites is the user's consent.
	AllowWrites bool
	// Folders and Tags are as in [inventory.Selection]. A VM in one of the folders or with one of the tags is in the scope; one
	// of the lists must not be empty.
	Folders, Tags []string
}

// ErrRefused is wrapped by every refusal of a write.
var ErrRefused = errors.New("write refused")

// Check validates a scope that allows writes.
func (s Scope) Check() error {
	if s.AllowWrites && len(s.Folders)+len(s.Tags) == 0 {
		return errors.New("writes are allowed nowhere: name a folder or a tag")
	}
	return inventory.Selection{Folders: s.Folders, Tags: s.Tags}.Check()
}

// CheckVM returns the reason why a VM must not be written to, or nil. The caller has just read the VM: its folder and tags are not
// checked again.
func (s Scope) CheckVM(vm inventory.VM) error {
	if !s.AllowWrites {
		return fmt.Errorf("%w: %s is not ours, and writes are not allowed: allow them, with a folder or a tag", ErrRefused, vm.Path)
	}
	if err := s.Check(); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrRefused, vm.Path, err)
	}
	for _, folder := range s.Folders {
		own := vm.Folder + "/"
		if strings.HasPrefix(folder, "/") {
			own = vm.Path // ends in its name after a slash
		}
		if strings.HasPrefix(own, strings.TrimRight(folder, "/")+"/") {
			return nil
		}
	}
	for _, tag := range vm.Tags {
		if slices.Contains(s.Tags, tag.String()) {
			return nil
		}
	}
	return fmt.Errorf("%w: %s is in none of the folders and has none of the tags that may be written to: %s",
		ErrRefused, vm.Path, strings.Join(slices.Concat(s.Folders, s.Tags), ", "))
}

// Guard allows writes in the scope, and records them in the journal. Both are required.
type Guard struct {
	Scope   Scope
	Journal *journal.Journal
}

// Write calls f if the scope allows writes to the VM, once do and its undo are on disk. A refusal wraps [ErrRefused]; then, and
// after an error of the journal, f was not called.
func (g *Guard) Write(ctx context.Context, vm inventory.VM, do, undo journal.Action, f func(context.Context) error) error {
	if err := g.Scope.CheckVM(vm); err != nil {
		return fmt.Errorf("vcenter %q: %s: %w", vm.VCenter, do.Kind, err)
	}
	e := journal.Entry{VCenter: vm.VCenter, Ref: vm.Ref, VM: vm.Path, InstanceUUID: vm.InstanceUUID, Do: do, Undo: undo}
	return g.Journal.Write(ctx, e, f)
}
