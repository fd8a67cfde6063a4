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
	// Method is what messages call the request, Operation the method of SOAP that it calls, empty where it is none or was not
	// understood. This is the object of that method.
	Method, Operation string
	This              types.ManagedObjectReference
	Err               error
	// Try says what may be done about it.
	Try string
}

// Error is the reason, and what to try.
func (r *Refusal) Error() string { return fmt.Sprintf("%s: %v; try: %s", r.Method, r.Err, r.Try) }

// Unwrap gives the reason; it wraps [scope.ErrRefused] where the request is not allowed.
func (r *Refusal) Unwrap() error { return r.Err }

// What a user can try after a refusal.
const (
	tryAllow   = "allow writes when the sandbox starts: up --allow-writes, with --write-folder or --write-tag"
	tryUndo    = "a write that can be taken back (power, reset, rename, a tag, a disk), about one VM; or a client of the vCenter itself, past the sandbox"
	tryScope   = "a VM of the folders and tags that the sandbox was started with (--write-folder, --write-tag)"
	tryKnown   = "the request as govc, the cloud provider or the CSI driver send it (docs/security.md lists what passes); or a client of the vCenter itself, past the sandbox"
	tryVCenter = "the same again, once the vCenter answers"
)

// Pass calls forward with the request to send on, unless the request is not let through: then the error is a
// [*Refusal]. Otherwise it is forward's, or the journal's. What forward gets was written from what was judged: nothing that the
// client has sent goes past the guard unread.
func (g *Guard) Pass(r *http.Request, body []byte, forward func(*http.Request) error) error {
	in, err := Look(r, body)
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

// write calls forward when the write may be done, and is in the journal. With an error that is forward's own, a [sentError],
// it was sent; with any other it was not, and try says what to do.
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
	if err := g.Scope.Allows(vm); err != nil {
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

// The kinds of a journal's actions, and what they are done with.
const (
	power        = "power"         // to: what the VM is to be, a power state of the API
	askGuest     = "ask-guest"     // to: what the VM is once its guest has done so, for which no task waits; no undo
	reset        = "reset"         // of VM or guest
	rename       = "rename"        // to: the name
	attachTag    = "attach-tag"    // tag: its id
	detachTag    = "detach-tag"    // tag
	attachVolume = "attach-volume" // volume: its id
	detachVolume = "detach-volume" // volume
	nothing      = "nothing"       // what cannot be taken back, or need not be

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

// Words says in words what an action makes of a VM; of one that is an undo, what the VM was like.
func Words(a journal.Action) string {
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

// guestTime is how long a guest may take to do what it was asked for. One that has not by then is taken for one that does not.
const guestTime = 2 * time.Minute

// guestLook is how often it is looked after meanwhile: there is no task that tells.
const guestLook = 500 * time.Millisecond

// guestsAsked are, of the writes that are pending, the newest first, the numbers of those that have asked a guest to end, and
// of which no later write tells that it has done so. A VM with such a guest is on, and may go off at any moment, also when it
// was just found to be as it is to be.
func guestsAsked(pending []journal.Entry) map[aspect]int {
	asked, ends := map[aspect]int{}, map[aspect]string{}
	for _, e := range slices.Backward(pending) {
		a := aspectOf(e)
		if ends[a] != "" && ends[a] == e.Undo.With[to] { // what the VM was like before this one
			delete(asked, a)
			delete(ends, a)
		}
		if e.Do.Kind == askGuest {
			asked[a], ends[a] = e.Seq, e.Do.With[to]
		}
	}
	return asked
}

// awaitGuest waits until the guest that was asked to end has done so, or had time enough since.
func awaitGuest(ctx context.Context, c *vcenter.Connection, e journal.Entry) error {
	limit, cancel := context.WithDeadline(ctx, e.Time.Add(guestTime))
	defer cancel()
	look := time.NewTicker(guestLook)
	defer look.Stop()
	for {
		now, err := settled(limit, c, e.Ref)
		if limit.Err() != nil {
			return context.Cause(ctx) // nil: it is the guest's time that is over
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
