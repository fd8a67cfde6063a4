package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/scope"
)

// Guard protects one vCenter. It is safe for concurrent use.
type Guard struct {
	Scope scope.Scope
	// Journal records writes. Nil: writes are refused.
	Journal *journal.Journal
	// Connection is a connection to the vCenter that bypasses the guard, to read what is about to change.
	Connection *vcenter.Connection
	// Wrote, if set, is called with every write after it was sent. It must be quick.
	Wrote func(vm inventory.VM, do, undo journal.Action)
}

// Refusal is the reason why a request was refused.
type Refusal struct {
	// Method is the name of the request in messages, Operation its SOAP method; empty for other or invalid requests. This is the
	// object of that method.
	Method, Operation string
	This              types.ManagedObjectReference
	Err               error
	// Try suggests what to do.
	Try string
}

// Error returns the reason, and what to try.
func (r *Refusal) Error() string { return fmt.Sprintf("%s: %v; try: %s", r.Method, r.Err, r.Try) }

// Unwrap returns the reason; it wraps [scope.ErrRefused] if the request is not allowed.
func (r *Refusal) Unwrap() error { return r.Err }

// Suggestions for the user after a refusal.
const (
	tryAllow   = "allow writes when the sandbox starts: up --allow-writes, with --write-folder or --write-tag"
	tryUndo    = "a write that can be taken back (power, reset, rename, a tag, a disk), about one VM; or a client of the vCenter itself, past the sandbox"
	tryScope   = "a VM of the folders and tags that the sandbox was started with (--write-folder, --write-tag)"
	tryKnown   = "the request as govc, the cloud provider or the CSI driver send it (docs/security.md lists what passes); or a client of the vCenter itself, past the sandbox"
	tryVCenter = "the same again, once the vCenter answers"
)

// Pass calls forward with the request to send. If the request is refused, the error is a [*Refusal]; otherwise it is forward's,
// or the journal's. forward gets a request written from the parsed one: nothing passes the guard unread.
func (g *Guard) Pass(r *http.Request, body []byte, forward func(*http.Request) error) error {
	in, err := ParseIntent(r, body)
	if err != nil {
		return &Refusal{Method: in.Method, Operation: in.Operation, Err: fmt.Errorf("refused: %w", err), Try: tryKnown}
	}
	out := in.Request(r)
	if !in.Write {
		return forward(out)
	}
	try, err := g.write(r.Context(), in, func() error { return forward(out) })
	if sent := (*sentError)(nil); errors.As(err, &sent) {
		return sent.error
	}
	if err != nil {
		return &Refusal{Method: in.Method, Operation: in.Operation, This: in.This, Err: err, Try: try}
	}
	return nil
}

// sentError is the error of a request that was sent.
type sentError struct{ error }

func (e *sentError) Unwrap() error { return e.error }

// write calls forward if the write is allowed, once it is in the journal. A [sentError] is forward's: the request was sent. After
// any other error it was not, and try suggests what to do.
func (g *Guard) write(ctx context.Context, in Intent, forward func() error) (try string, err error) {
	real := g.Connection.VCenter.Name
	if !g.Scope.AllowWrites {
		return tryAllow, fmt.Errorf("%w: read-only: vcenter %q is a real one, and writes are not allowed", scope.ErrRefused, real)
	}
	if in.VM.Value == "" {
		return tryUndo, fmt.Errorf("%w: vcenter %q is a real one, and what this changes is no VM's, or could not be taken back", scope.ErrRefused, real)
	}
	if g.Journal == nil {
		return tryAllow, fmt.Errorf("%w: there is no journal", scope.ErrRefused)
	}
	vm, err := inventory.ReadVM(ctx, g.Connection, in.VM, len(g.Scope.Tags) > 0)
	if err != nil {
		return tryVCenter, err
	}
	if err := g.Scope.CheckVM(vm); err != nil {
		return tryScope, fmt.Errorf("vcenter %q: %w", vm.VCenter, err)
	}
	undo, err := g.undo(ctx, vm, in.Do)
	if err != nil {
		return tryVCenter, err
	}
	guarded := scope.Guard{Scope: g.Scope, Journal: g.Journal}
	return tryVCenter, guarded.Write(ctx, vm, in.Do, undo, func(context.Context) error {
		if g.Wrote != nil {
			defer g.Wrote(vm, in.Do, undo)
		}
		if err := forward(); err != nil {
			return &sentError{err}
		}
		return nil
	})
}

// The kinds of a journal's actions, with their parameters.
const (
	power        = "power"         // to: a power state of the API
	askGuest     = "ask-guest"     // to: the state after the guest has done so, for which there is no task; no undo
	reset        = "reset"         // of VM or guest
	rename       = "rename"        // to: the name
	attachTag    = "attach-tag"    // tag: its ID
	detachTag    = "detach-tag"    // tag
	attachVolume = "attach-volume" // volume: its ID
	detachVolume = "detach-volume" // volume
	nothing      = "nothing"       // cannot or need not be reverted

	to       = "to"
	tagID    = "tag"
	volumeID = "volume"
)

// The power states of the API.
const (
	poweredOn  = "poweredOn"
	poweredOff = "poweredOff"
	suspended  = "suspended"
)

// DescribeVM describes the state of a VM after an action; for an undo, its previous state.
func DescribeVM(a journal.Action) string {
	switch a.Kind {
	case power, askGuest:
		return map[string]string{poweredOn: "powered on", poweredOff: "powered off", suspended: "suspended"}[a.With[to]]
	case reset:
		return "reset"
	case rename:
		return "called " + a.With[to]
	case attachTag:
		return "tagged with " + a.With[tagID]
	case detachTag:
		return "not tagged with " + a.With[tagID]
	case attachVolume:
		return "given volume " + a.With[volumeID]
	case detachVolume:
		return "without volume " + a.With[volumeID]
	}
	return "as it is: this cannot be taken back"
}

// guestTime is the time that a guest has to end. After that it is assumed not to.
const guestTime = 2 * time.Minute

// guestLook is the poll interval during that time: there is no task.
const guestLook = 500 * time.Millisecond

// guestsAsked returns the pending writes, newest first, that have asked a guest to end, and whose result no later write shows. A
// VM with such a guest may power off at any time, even if its state was just found to be right.
func guestsAsked(pending []journal.Entry) map[aspect]int {
	asked, ends := map[aspect]int{}, map[aspect]string{}
	for _, e := range slices.Backward(pending) {
		a := aspectOf(e)
		if ends[a] != "" && ends[a] == e.Undo.With[to] { // the state of the VM before this one
			delete(asked, a)
			delete(ends, a)
		}
		if e.Do.Kind == askGuest {
			asked[a], ends[a] = e.Seq, e.Do.With[to]
		}
	}
	return asked
}

// awaitGuest waits until the guest has ended, or its time is over.
func awaitGuest(ctx context.Context, c *vcenter.Connection, e journal.Entry) error {
	limit, cancel := context.WithDeadline(ctx, e.Time.Add(guestTime))
	defer cancel()
	look := time.NewTicker(guestLook)
	defer look.Stop()
	for {
		now, err := settled(limit, c, e.Ref)
		if limit.Err() != nil {
			return context.Cause(ctx) // nil: the guest's time is over
		}
		if err != nil || now != poweredOn {
			return err
		}
		select {
		case <-look.C:
		case <-limit.Done():
		}
	}
}
