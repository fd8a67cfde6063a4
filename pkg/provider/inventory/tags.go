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

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/absent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/tagged"
)

// tagState is the result of reading tags; it is immutable.
type tagState struct {
	region, zone tagged.Objects
	absent       []absent.Name // categories that do not exist
	readAt       time.Time     // of the last complete read; zero before the first
	err          error         // of the last read
}

// missing returns why there is no state, or no newer one.
func (s *tagState) missing() error {
	if s.readAt.IsZero() && s.err == nil {
		return errors.New("tags not read yet")
	}
	return s.err
}

func (s *tagState) same(other *tagState) bool {
	return maps.EqualFunc(s.region, other.region, slices.Equal) && maps.EqualFunc(s.zone, other.zone, slices.Equal)
}

// attachedMore reports whether a tag that was known before is attached to another object now.
func (s *tagState) attachedMore(old *tagState) bool {
	return grown(old.region, s.region) || grown(old.zone, s.zone)
}

func grown(old, now tagged.Objects) bool {
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

// tagIndex records which objects of one vCenter have which tags of the two categories. While the REST API is unavailable,
// the last state stays in use.
type tagIndex struct {
	source  *source
	cfg     Config
	log     *slog.Logger
	running sharedRun
	changes notify.Listeners[struct{}] // notified when the tags differ

	state    atomic.Pointer[tagState]
	ready    chan struct{} // closed after the first read
	schedule schedule

	reader tagged.Reader // used only by run
}

func newTagIndex(s *source, cfg Config) *tagIndex {
	cfg.Previous = nil
	t := &tagIndex{source: s, cfg: cfg, log: s.log, ready: make(chan struct{}), schedule: newSchedule(cfg)}
	t.state.Store(&tagState{})
	t.reader.Age = t.schedule.nameAge()
	t.running.run = t.run
	return t
}

// run reads the tags on a timer, and earlier after an event or a miss, until ctx ends.
func (t *tagIndex) run(ctx context.Context) error {
	if !t.cfg.Categories.enabled() {
		return nil
	}
	defer t.source.tagged.Listen(func(struct{}) { t.schedule.event() })()
	for why := byTimer; ; {
		if _, err := t.source.client.Wait(ctx); err != nil {
			return err
		}
		t.schedule.begin()
		err := t.refresh(ctx, why)
		if why, err = t.schedule.idle(ctx, t.followed(), passing(err)); err != nil {
			return err
		}
	}
}

// passing reports whether the failure to read the tags may be over soon.
func passing(err error) bool {
	_, missing := errors.AsType[*categoriesError](err)
	return err != nil && !missing
}

// followed reports whether events report every attached or detached tag.
func (t *tagIndex) followed() bool { return t.source.following.Load() && t.schedule.trusted() }

func (t *tagIndex) refresh(ctx context.Context, why reason) error {
	old := t.state.Load()
	read, err := t.read(ctx, t.call)
	fresh := &tagState{region: old.region, zone: old.zone, absent: old.absent, readAt: old.readAt, err: err}
	missing, _ := errors.AsType[*categoriesError](err)
	switch {
	case err == nil:
		fresh = &tagState{region: read[0], zone: read[1], readAt: time.Now()}
	case missing != nil:
		// A category that is missing may have been renamed by mistake: its last tags stay in use.
		fresh.absent = missing.names
		if read[0] != nil {
			fresh.region = read[0]
		}
		if read[1] != nil {
			fresh.zone = read[1]
		}
	}
	if err != nil && ctx.Err() == nil && (old.err == nil || old.err.Error() != err.Error()) {
		t.log.Warn("cannot read tags", "err", err)
	}
	t.publish(old, fresh, why)
	select {
	case <-t.ready:
	default:
		close(t.ready)
	}
	return err
}

// read reads the tags of both categories. With a [*categoriesError] the result has nil for each missing category.
func (t *tagIndex) read(ctx context.Context, call tagged.Call) ([]tagged.Objects, error) {
	wanted := []string{t.cfg.Categories.Region, t.cfg.Categories.Zone}
	read, err := t.reader.Read(ctx, call, wanted...)
	if err != nil || read[0] != nil && read[1] != nil {
		return read, err
	}
	present := t.reader.Categories()
	t.reader.Forget() // no event reports when a category gets the name, and nodes wait for it
	return read, &categoriesError{absent.Find(absent.Wanted{Categories: wanted}, absent.Present{Categories: present})}
}

func (t *tagIndex) publish(old, fresh *tagState, why reason) {
	t.state.Store(fresh)
	differs := !fresh.same(old)
	if t.schedule.end(why, differs, fresh.attachedMore(old)) {
		t.log.Info("tags changed without an event: reading them more often")
	}
	if differs || !slices.Equal(fresh.absent, old.absent) {
		t.changes.Notify(struct{}{})
	}
}

// call runs one call with a separate timeout.
func (t *tagIndex) call(ctx context.Context, f func(context.Context, *tags.Manager) error) error {
	return t.source.client.DoREST(ctx, func(ctx context.Context, rc *rest.Client) error { return f(ctx, tags.NewManager(rc)) })
}

// wait returns after the first attempt to read the tags.
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

// missed requests an early read.
func (t *tagIndex) missed() { t.schedule.miss(t.followed()) }

const (
	// If events report tags, the timer only finds renamed or deleted tags and categories. At every 5 min that is 12 reads an
	// hour instead of 60.
	refreshFollowed = 5 * time.Minute
	refreshAlone    = time.Minute
	refreshFailed   = 5 * time.Second

	// missInterval is how often misses count if events report tags: the event of the missing tag would have been seen, unless
	// the miss has another cause.
	missInterval = 10 * time.Second

	// Reads after events slow down when this many in a row find no change: the events are about other tags.
	fruitlessLimit = 4
	slowInterval   = 5 * time.Second
)

type reason int

const (
	byTimer reason = iota
	byEvent
	byMiss
)

// schedule decides when tags are read. event and miss are safe for concurrent use; the rest belongs to one goroutine.
type schedule struct {
	refresh, interval time.Duration // as configured

	events, misses chan struct{}
	lastMiss       atomic.Int64 // in Unix nanoseconds
	seen           atomic.Bool  // an event since the last read began
	distrust       atomic.Bool  // tags were attached without an event

	announced bool // an event before the current read, not yet explained by a change
	fruitless int  // reads after events that changed nothing, in a row
}

func newSchedule(cfg Config) schedule {
	return schedule{
		refresh: cfg.TagRefresh, interval: cfg.TagMissInterval,
		events: make(chan struct{}, 1), misses: make(chan struct{}, 1),
	}
}

// nameAge is how long the names of tags and categories are cached: they are read one by one, and rarely change.
func (p *schedule) nameAge() time.Duration {
	if p.refresh > 0 {
		return min(refreshFollowed, 10*p.refresh)
	}
	return refreshFollowed
}

// event records that a tag was attached or detached.
func (p *schedule) event() {
	p.seen.Store(true)
	p.distrust.Store(false)
	notify.Wake(p.events)
}

// miss records that a lookup found no tag.
func (p *schedule) miss(followed bool) {
	now := time.Now().UnixNano()
	last := p.lastMiss.Load()
	if followed && now-last < int64(missInterval) || !p.lastMiss.CompareAndSwap(last, now) {
		return
	}
	notify.Wake(p.misses)
}

// trusted reports whether events, if they are followed, report every change.
func (p *schedule) trusted() bool { return !p.distrust.Load() }

// begin is called before a read, which covers all triggers so far.
func (p *schedule) begin() {
	select {
	case <-p.events:
	default:
	}
	select {
	case <-p.misses:
	default:
	}
	p.announced = p.seen.Swap(false) || p.fruitless > 0
}

// end is called after a read. It reports whether events have just proved incomplete, because the account may not see all of
// them.
func (p *schedule) end(why reason, differs, attachedMore bool) (doubtful bool) {
	if p.fruitless++; why != byEvent || differs {
		p.fruitless = 0
	}
	if why != byEvent && attachedMore && !p.announced && !p.seen.Load() {
		return p.distrust.CompareAndSwap(false, true)
	}
	return false
}

// idle waits for the next read and returns its reason.
func (p *schedule) idle(ctx context.Context, followed, failed bool) (reason, error) {
	most := refreshAlone
	switch {
	case p.refresh > 0:
		most = p.refresh
	case followed && p.fruitless == 0: // an event may arrive before its change is readable
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

// least is the least time between two reads.
func (p *schedule) least() time.Duration {
	least := backoff.Backoff{Min: p.interval, Max: max(p.interval, slowInterval)}
	return least.After(p.fruitless - fruitlessLimit + 2)
}

// categoriesError reports that configured categories do not exist. The vCenter has answered, so there is no reason to retry
// soon.
type categoriesError struct{ names []absent.Name }

func (e *categoriesError) Error() string { return absent.Join(e.names) }
