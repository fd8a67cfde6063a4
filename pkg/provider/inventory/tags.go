package inventory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
)

// attached maps an object to the names of the tags on it, of one category, in order.
type attached map[types.ManagedObjectReference][]string

// tagState is what is known of tags at one moment; it is never changed.
type tagState struct {
	region, zone attached
	readAt       time.Time // of the last complete reading; zero before the first
	err          error     // of the last reading
}

// missing returns why there is nothing, or nothing newer.
func (s *tagState) missing() error {
	if s.readAt.IsZero() && s.err == nil {
		return errors.New("tags not read yet")
	}
	return s.err
}

func (s *tagState) same(other *tagState) bool {
	return maps.EqualFunc(s.region, other.region, slices.Equal) && maps.EqualFunc(s.zone, other.zone, slices.Equal)
}

// attachedMore reports whether a tag that was seen on something before is on something else now.
func (s *tagState) attachedMore(old *tagState) bool {
	return grown(old.region, s.region) || grown(old.zone, s.zone)
}

func grown(old, now attached) bool {
	known := map[string]bool{}
	for _, names := range old {
		for _, name := range names {
			known[name] = true
		}
	}
	for ref, names := range now {
		for _, name := range names {
			if known[name] && !slices.Contains(old[ref], name) {
				return true
			}
		}
	}
	return false
}

// tagIndex knows which objects of one vCenter carry which tags of the two categories. What was read last stays in use
// while the REST API cannot be read.
type tagIndex struct {
	source  *source
	cfg     Config
	log     *slog.Logger
	running held
	changes notify.Listeners[struct{}] // told when what was read differs from before

	state atomic.Pointer[tagState]
	ready chan struct{} // closed after the first reading
	pace  pace

	reader tagReader // used by run alone
}

func newTagIndex(s *source, cfg Config) *tagIndex {
	cfg.Previous = nil
	t := &tagIndex{source: s, cfg: cfg, log: s.log, ready: make(chan struct{}), pace: newPace(cfg)}
	t.state.Store(&tagState{})
	t.reader.age = t.pace.nameAge()
	t.running.run = t.run
	return t
}

// run reads the tags on a timer, and early after an event or a miss, until ctx ends.
func (t *tagIndex) run(ctx context.Context) error {
	if !t.cfg.Categories.enabled() {
		return nil
	}
	defer t.source.tagged.Listen(func(struct{}) { t.pace.event() })()
	for why := byTimer; ; {
		if _, err := t.source.client.Wait(ctx); err != nil {
			return err
		}
		t.pace.begin()
		err := t.refresh(ctx, why)
		if why, err = t.pace.idle(ctx, t.followed(), passing(err)); err != nil {
			return err
		}
	}
}

// passing reports whether what kept the tags from being read may soon be over.
func passing(err error) bool { return err != nil && !errors.Is(err, errNoCategory) }

// followed reports whether every tag that is attached or detached is told by an event.
func (t *tagIndex) followed() bool { return t.source.following.Load() && t.pace.trusted() }

// refresh reads both categories once.
func (t *tagIndex) refresh(ctx context.Context, why reason) error {
	old := t.state.Load()
	read, err := t.reader.read(ctx, t.call, t.cfg.Categories.Region, t.cfg.Categories.Zone)
	fresh := &tagState{region: old.region, zone: old.zone, readAt: old.readAt, err: err}
	if err == nil {
		fresh = &tagState{region: read[0], zone: read[1], readAt: time.Now()}
	} else if ctx.Err() == nil && (old.err == nil || old.err.Error() != err.Error()) {
		t.log.Warn("read tags", "err", err)
	}
	t.publish(old, fresh, why)
	select {
	case <-t.ready:
	default:
		close(t.ready)
	}
	return err
}

// publish makes fresh what is known of tags.
func (t *tagIndex) publish(old, fresh *tagState, why reason) {
	t.state.Store(fresh)
	differs := !fresh.same(old)
	if t.pace.end(why, differs, fresh.attachedMore(old)) {
		t.log.Info("tags change without events: they are read more often")
	}
	if differs {
		t.changes.Tell(struct{}{})
	}
}

// call runs one call under a call timeout of its own.
func (t *tagIndex) call(ctx context.Context, f func(context.Context, *tags.Manager) error) error {
	return t.source.client.DoREST(ctx, func(ctx context.Context, rc *rest.Client) error { return f(ctx, tags.NewManager(rc)) })
}

// wait returns when the tags have been read, or could not be, for the first time.
func (t *tagIndex) wait(ctx context.Context) error {
	if !t.cfg.Categories.enabled() {
		return nil
	}
	select {
	case <-t.ready:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("vcenter %q: tags not read yet: %w", t.source.client.Name(), ctx.Err())
	}
}

// missed asks for an early reading.
func (t *tagIndex) missed() { t.pace.miss(t.followed()) }

// add notes that an object carries a tag. The names of one object stay in order, so that several tags of one category
// always give the same answer.
func (a attached) add(ref types.ManagedObjectReference, name string) {
	names := a[ref]
	if i, found := slices.BinarySearch(names, name); !found {
		a[ref] = slices.Insert(names, i, name)
	}
}

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
