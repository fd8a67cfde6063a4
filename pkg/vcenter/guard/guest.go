package guard

import (
	"context"
	"slices"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
)

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
