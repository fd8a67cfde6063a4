package property

import (
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
)

// collector is the state of one PropertyCollector of one session.
//
// Two kinds of goroutines meet in it. Whoever changes the inventory notes the
// change under mu, with the changed object locked. Whoever waits holds the
// turn, and takes mu only to look at the notes, never while it locks an object:
// so neither can wait for the other.
type collector struct {
	service *Service
	key     collectorKey

	// turn is held by the one wait that may select, read and answer.
	turn chan struct{}
	// wake is filled when there may be something to answer.
	wake chan struct{}

	mu      sync.Mutex
	session types.UserSession // of the last call
	filters []*filter
	current *waiter
	used    time.Time // when the last wait began or ended
	asleep  bool      // not listening: notes are missing since
	ended   types.BaseMethodFault
	answers answers
	pages   []page
	// gone are removed objects that may still be found for a moment.
	gone map[types.ManagedObjectReference]struct{}
}

// waiter is one call that waits.
type waiter struct {
	canceled chan struct{}
	fault    types.BaseMethodFault // set before canceled is closed
}

func newCollector(s *Service, key collectorKey) *collector {
	return &collector{
		service: s,
		key:     key,
		turn:    make(chan struct{}, 1),
		wake:    make(chan struct{}, 1),
		used:    time.Now(),
		asleep:  true,
		gone:    make(map[types.ManagedObjectReference]struct{}),
	}
}

func (c *collector) usedBy(user *types.UserSession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = *user
}

func (c *collector) user() types.UserSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

func (c *collector) belongsTo(sessionKey string) bool { return c.user().Key == sessionKey }

func (c *collector) filterRefs() []types.ManagedObjectReference {
	c.mu.Lock()
	defer c.mu.Unlock()
	var refs []types.ManagedObjectReference
	for _, f := range c.filters {
		refs = append(refs, f.ref)
	}
	return refs
}

func (c *collector) addFilter(f *filter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.filters = append(c.filters, f)
	c.signal()
}

func (c *collector) removeFilter(ref types.ManagedObjectReference) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// A new list: the wait in progress may be going through the old one.
	c.filters = slices.DeleteFunc(slices.Clone(c.filters), func(f *filter) bool { return f.ref == ref })
}

// signal wakes the wait in progress, or the next one.
func (c *collector) signal() {
	notify.Wake(c.wake)
}

// cancelWait ends the wait in progress.
func (c *collector) cancelWait(fault types.BaseMethodFault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancelLocked(fault)
}

func (c *collector) cancelLocked(fault types.BaseMethodFault) {
	if w := c.current; w != nil {
		w.fault = fault
		close(w.canceled)
		c.current = nil
	}
}

// end makes the collector useless: the wait in progress and all to come fail.
func (c *collector) end(fault types.BaseMethodFault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = fault
	c.cancelLocked(fault)
	c.asleep = true
	c.filters, c.pages, c.gone = nil, nil, make(map[types.ManagedObjectReference]struct{})
}

// sleepIfIdle stops noting changes when the last wait is longer ago than the
// time given. It says whether the collector sleeps.
func (c *collector) sleepIfIdle(since time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.asleep && c.current == nil && len(c.turn) == 0 && c.used.Before(since) {
		c.asleep = true
		for _, f := range c.filters {
			f.dropNotes()
		}
		clear(c.gone)
	}
	return c.asleep
}

func (c *collector) isAsleep() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asleep
}

// forgetIfIdle frees what a sleeping collector knows.
func (c *collector) forgetIfIdle(since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asleep && c.used.Before(since) {
		c.restart()
		c.answers.invalidate()
		c.pages = nil
	}
}

// restart makes every filter report all its objects anew.
func (c *collector) restart() {
	for _, f := range c.filters {
		f.restart()
	}
}
