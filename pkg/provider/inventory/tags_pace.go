package inventory

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
)

const (
	// Where events are followed, only what no event tells of waits for the timer: tags and categories that are renamed or
	// deleted. Every 5 min then costs a vCenter 12 readings an hour, in place of 60.
	refreshFollowed = 5 * time.Minute
	refreshAlone    = time.Minute
	refreshFailed   = 5 * time.Second

	// missInterval is how often misses count where events are followed: the event of the tag that is missed would have
	// been seen, unless the miss has another reason.
	missInterval = 10 * time.Second

	// Readings because of events slow down when this many in a row find nothing that matters: somebody else's tags change.
	patience     = 4
	slowInterval = 5 * time.Second
)

// reason is why tags are read.
type reason int

const (
	byTimer reason = iota
	byEvent
	byMiss
)

// pace says when tags are read. Events and misses may be told from any goroutine; the rest belongs to one.
type pace struct {
	refresh, interval time.Duration // as configured

	events, misses chan struct{}
	lastMiss       atomic.Int64 // in Unix nanoseconds
	seen           atomic.Bool  // an event since the last reading began
	distrust       atomic.Bool  // tags were attached without one

	told      bool // an event before the reading under way that none before has made sense of
	fruitless int  // readings by events that changed nothing, in a row
}

func newPace(cfg Config) pace {
	return pace{
		refresh: cfg.TagRefresh, interval: cfg.TagMissInterval,
		events: make(chan struct{}, 1), misses: make(chan struct{}, 1),
	}
}

// nameAge is how long names of tags and categories are believed: they are read one by one, and rarely change.
func (p *pace) nameAge() time.Duration {
	if p.refresh > 0 {
		return min(refreshFollowed, 10*p.refresh)
	}
	return refreshFollowed
}

// event says that a tag was attached or detached.
func (p *pace) event() {
	p.seen.Store(true)
	p.distrust.Store(false)
	notify.Wake(p.events)
}

// miss says that somebody found no tag where one should be.
func (p *pace) miss(followed bool) {
	now := time.Now().UnixNano()
	last := p.lastMiss.Load()
	if followed && now-last < int64(missInterval) || !p.lastMiss.CompareAndSwap(last, now) {
		return
	}
	notify.Wake(p.misses)
}

// trusted reports whether events, when they are followed, tell everything.
func (p *pace) trusted() bool { return !p.distrust.Load() }

// begin is called before a reading: what was told until then is answered by it.
func (p *pace) begin() {
	select {
	case <-p.events:
	default:
	}
	select {
	case <-p.misses:
	default:
	}
	p.told = p.seen.Swap(false) || p.fruitless > 0
}

// end is called after a reading with what it found. It reports whether that puts an end to the trust in events: some
// account may not see them.
func (p *pace) end(why reason, differs, attachedMore bool) (doubtful bool) {
	if p.fruitless++; why != byEvent || differs {
		p.fruitless = 0
	}
	if why != byEvent && attachedMore && !p.told && !p.seen.Load() {
		return p.distrust.CompareAndSwap(false, true)
	}
	return false
}

// idle waits for the next reading and says why it is due.
func (p *pace) idle(ctx context.Context, followed, failed bool) (reason, error) {
	most := refreshAlone
	switch {
	case p.refresh > 0:
		most = p.refresh
	case followed && p.fruitless == 0: // an event may be told before what it tells of can be read
		most = refreshFollowed
	}
	if failed {
		most = min(most, refreshFailed)
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	if err := backoff.Sleep(ctx, min(p.least(), most)); err != nil {
		return byTimer, err
	}
	select {
	case <-p.events:
		return byEvent, nil
	case <-p.misses:
		return byMiss, nil
	case <-timer.C:
		return byTimer, nil
	case <-ctx.Done():
		return byTimer, ctx.Err()
	}
}

// least is the time between two readings.
func (p *pace) least() time.Duration {
	least := backoff.Backoff{Min: p.interval, Max: max(p.interval, slowInterval)}
	return least.After(p.fruitless - patience + 2)
}
