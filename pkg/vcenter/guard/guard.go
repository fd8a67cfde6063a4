package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/scope"
)

// Guard is for one vCenter. It may be used from any goroutine.
type Guard struct {
	Scope scope.Scope
	// Journal keeps what is written. Nil: nothing is.
	Journal *journal.Journal
	// Connection leads to the vCenter, past the guard: what is about to be changed is looked at through it.
	Connection *vcenter.Connection
	// Wrote, when set, is told of every write that was let through, after it was sent. It must be quick.
	Wrote func(vm inventory.VM, do, undo journal.Action)
}

// Refusal says why a request was not let through.
type Refusal struct {
	// Method and This are those of the request.
	Method string
	This   types.ManagedObjectReference
	Err    error
}

// Error is the reason.
func (r *Refusal) Error() string { return fmt.Sprintf("%s: %v", r.Method, r.Err) }

// Unwrap gives the reason; it wraps [scope.ErrRefused] where the request is not allowed.
func (r *Refusal) Unwrap() error { return r.Err }

// Pass calls forward, unless the request is not to be let through: then the error is a [*Refusal]. Otherwise it is
// forward's, or the journal's.
func (g *Guard) Pass(r *http.Request, body []byte, forward func() error) error {
	in, err := Look(r, body)
	if err != nil {
		return &Refusal{Method: r.Method + " " + r.URL.Path, Err: err}
	}
	if !in.Write {
		return forward()
	}
	if err := g.write(r.Context(), in, forward); err != nil {
		if sent := (*sentError)(nil); errors.As(err, &sent) {
			return sent.error
		}
		return &Refusal{Method: in.Method, This: in.This, Err: err}
	}
	return nil
}

// sentError is the error of a request that was sent.
type sentError struct{ error }

func (e *sentError) Unwrap() error { return e.error }

func (g *Guard) write(ctx context.Context, in Intent, forward func() error) error {
	if !g.Scope.AllowWrites {
		return fmt.Errorf("%w: read-only: vcenter %q is a real one: allow writes, with a folder or a tag", scope.ErrRefused, g.Connection.VCenter.Name)
	}
	if in.VM.Value == "" {
		return fmt.Errorf("%w: vcenter %q is a real one, and what this changes is no VM's, or could not be taken back", scope.ErrRefused, g.Connection.VCenter.Name)
	}
	if g.Journal == nil {
		return fmt.Errorf("%w: there is no journal", scope.ErrRefused)
	}
	vm, err := inventory.ReadVM(ctx, g.Connection, in.VM, len(g.Scope.Tags) > 0)
	if err != nil {
		return err
	}
	if err := g.Scope.Allows(vm); err != nil {
		return fmt.Errorf("vcenter %q: %w", vm.VCenter, err)
	}
	undo, err := g.undo(ctx, vm, in.Do)
	if err != nil {
		return err
	}
	guarded := scope.Guard{Scope: g.Scope, Journal: g.Journal}
	err = guarded.Write(ctx, vm, in.Do, undo, func(context.Context) error {
		if g.Wrote != nil {
			defer g.Wrote(vm, in.Do, undo)
		}
		if err := forward(); err != nil {
			return &sentError{err}
		}
		return nil
	})
	return err
}
