package inventory

import (
	"cmp"
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
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/absent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// attached maps an object to the names of its tags of one category, in order.
type attached map[types.ManagedObjectReference][]string

// tagState is the result of reading tags; it is immutable.
type tagState struct {
	region, zone attached
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

	reader tagReader // used only by run
}

func newTagIndex(s *source, cfg Config) *tagIndex {
	cfg.Previous = nil
	t := &tagIndex{source: s, cfg: cfg, log: s.log, ready: make(chan struct{}), schedule: newSchedule(cfg)}
	t.state.Store(&tagState{})
	t.reader.age = t.schedule.nameAge()
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
	read, err := t.reader.read(ctx, t.call, t.cfg.Categories.Region, t.cfg.Categories.Zone)
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

// add records a tag of an object. The names of one object stay in order, so that several tags of one category always give
// the same result.
func (a attached) add(ref types.ManagedObjectReference, name string) {
	names := a[ref]
	if i, found := slices.BinarySearch(names, name); !found {
		a[ref] = slices.Insert(names, i, name)
	}
}

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

// tagCall runs one call to the tagging API with a separate deadline.
type tagCall func(ctx context.Context, f func(context.Context, *tags.Manager) error) error

// tagReader reads one vCenter's tags with few calls: per read one list of tags per category and one batched list of
// attachments, plus one call per tag with an unknown name.
type tagReader struct {
	age        time.Duration     // how long names are cached; 5 min when zero
	learntAt   time.Time         // when the cache was last cleared
	categories map[string]string // id → name
	names      map[string]string // tag id → name
	stale      map[string]bool   // ids of categories whose name must be read again
}

// read returns the objects that the tags of each named category are attached to. If a call fails, the cached names stay, so
// that the next read continues from there. If an object does not exist, all categories are read again the next time, because
// the category may have been deleted and created again. The same applies if no category has the name: no event reports when
// a category gets it, and nodes wait for it. With a [*categoriesError] the result has nil for each missing category.
func (r *tagReader) read(ctx context.Context, call tagCall, categories ...string) (_ []attached, err error) {
	r.forget()
	var missing categoriesError
	defer func() {
		if vcenter.NotFound(err) || len(missing.names) > 0 {
			r.categories = nil
		}
	}()
	result := make([]attached, len(categories))
	of := map[string][]int{} // tag id → indexes of categories; two labels may share one
	for i, category := range categories {
		id, err := r.categoryID(ctx, call, category)
		if err != nil {
			return nil, err
		}
		if id == "" {
			missing.names = r.absent(categories)
			continue
		}
		result[i] = attached{}
		ids, err := r.tagIDs(ctx, call, category, id)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			of[id] = append(of[id], i)
		}
	}
	done := func() error {
		if len(missing.names) > 0 {
			return &missing
		}
		return nil
	}
	if len(of) == 0 {
		return result, done()
	}
	var objects []tags.AttachedObjects
	err = call(ctx, func(ctx context.Context, m *tags.Manager) (err error) {
		objects, err = m.ListAttachedObjectsOnTags(ctx, slices.Sorted(maps.Keys(of)))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list objects with tags: %w", err)
	}
	for _, o := range objects {
		for _, i := range of[o.TagID] {
			for _, ref := range o.ObjectIDs {
				result[i].add(ref.Reference(), r.names[o.TagID])
			}
		}
	}
	return result, done()
}

// absent returns the categories that do not exist. All names have just been read.
func (r *tagReader) absent(categories []string) []absent.Name {
	present := slices.Sorted(maps.Values(r.categories))
	return absent.Find(absent.Wanted{Categories: categories}, absent.Present{Categories: append([]string{}, present...)})
}

// forget clears the cache when it is old. Of the categories, which may be many, only the known ones are read again.
func (r *tagReader) forget() {
	if r.categories != nil && time.Since(r.learntAt) < cmp.Or(r.age, refreshFollowed) {
		return
	}
	r.learntAt, r.names = time.Now(), map[string]string{}
	if r.categories == nil {
		r.categories = map[string]string{}
	}
	r.stale = map[string]bool{}
	for id := range r.categories {
		r.stale[id] = true
	}
}

// tagIDs lists the tags of a category and caches their names.
func (r *tagReader) tagIDs(ctx context.Context, call tagCall, category, id string) (ids []string, err error) {
	err = call(ctx, func(ctx context.Context, m *tags.Manager) (err error) {
		ids, err = m.ListTagsForCategory(ctx, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list tags of category %q: %w", category, err)
	}
	for _, id := range ids {
		if _, ok := r.names[id]; ok {
			continue
		}
		err := call(ctx, func(ctx context.Context, m *tags.Manager) error {
			tag, err := m.GetTag(ctx, id)
			if err == nil {
				r.names[id] = tag.Name
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("tag %s of category %q: %w", id, category, err)
		}
	}
	return ids, nil
}

// categoryID finds a category by name, which the API cannot do. It returns "" if none has the name; then the names of all
// categories have just been read.
func (r *tagReader) categoryID(ctx context.Context, call tagCall, name string) (string, error) {
	if id, ok := r.knownCategory(name); ok {
		if !r.stale[id] {
			return id, nil
		}
		if err := r.learnCategory(ctx, call, id); err != nil {
			return "", err
		}
		if r.categories[id] == name {
			return id, nil
		}
	}
	var ids []string
	err := call(ctx, func(ctx context.Context, m *tags.Manager) (err error) {
		ids, err = m.ListCategories(ctx)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("list tag categories: %w", err)
	}
	maps.DeleteFunc(r.categories, func(id, _ string) bool { return !slices.Contains(ids, id) })
	for _, id := range ids {
		if _, ok := r.categories[id]; ok && !r.stale[id] {
			continue
		}
		if err := r.learnCategory(ctx, call, id); err != nil {
			return "", err
		}
	}
	if id, ok := r.knownCategory(name); ok && !r.stale[id] {
		return id, nil
	}
	return "", nil
}

// learnCategory reads the name of a category, unless it has been deleted.
func (r *tagReader) learnCategory(ctx context.Context, call tagCall, id string) error {
	err := call(ctx, func(ctx context.Context, m *tags.Manager) error {
		c, err := m.GetCategory(ctx, id)
		if err == nil {
			r.categories[id] = c.Name
		}
		return err
	})
	if vcenter.NotFound(err) {
		delete(r.categories, id)
		err = nil
	}
	if err != nil {
		return fmt.Errorf("tag category %s: %w", id, err)
	}
	delete(r.stale, id)
	return nil
}

func (r *tagReader) knownCategory(name string) (id string, ok bool) {
	for id, n := range r.categories {
		if n == name {
			return id, true
		}
	}
	return "", false
}
