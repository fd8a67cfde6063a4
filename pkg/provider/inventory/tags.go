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
