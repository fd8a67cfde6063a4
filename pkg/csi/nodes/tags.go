package nodes

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// How often tags are read. Where events are followed, only what no event tells of waits for the timer: tags and
// categories that are renamed or deleted.
const (
	tagsFollowed = 5 * time.Minute
	tagsAlone    = time.Minute
	tagsFailed   = 5 * time.Second
	tagsPause    = 300 * time.Millisecond
	tagsMissed   = 10 * time.Second // how often a miss counts where events are followed
	tagsSlowest  = 5 * time.Second
)

// preferredCategory is the tag category whose tags on datastores make these preferred in the segments that have a tag of
// that name: upstream's pkg/csi/service/common/constants.go.
const preferredCategory = "cns.vmware.topology-preferred-datastores"

// attached maps an object to the names of the tags on it, of one category, in order.
type attached map[ref][]string

// tagState is what is known of tags at one moment; it is never changed.
type tagState struct {
	of     []attached // of each category, in the order of the configuration, and at the end of preferredCategory
	absent []bool     // the vCenter has no category of that name
	read   bool       // there was a complete reading
	err    error      // of the last reading
}

func (s *tagState) same(other *tagState) bool {
	return s.read == other.read && slices.Equal(s.absent, other.absent) &&
		slices.EqualFunc(s.of, other.of, func(a, b attached) bool { return maps.EqualFunc(a, b, slices.Equal) })
}

// tagIndex knows which objects of one vCenter carry which tags of the categories. What was read last stays in use while
// the REST API cannot be read.
type tagIndex struct {
	client     *vcenter.Client
	categories []Category
	log        *slog.Logger
	changed    func()
	refresh    time.Duration // as configured
	pause      time.Duration

	state     atomic.Pointer[tagState]
	following atomic.Bool
	wake      chan struct{}

	mu     sync.Mutex
	missAt time.Time // of the last miss that counted

	// Used by run alone.
	reader    tagReader
	woken     bool // the reading was asked for
	fruitless int  // readings in a row that were asked for and changed nothing
}

func newTagIndex(cfg *Config, client *vcenter.Client, categories []Category, log *slog.Logger, changed func()) *tagIndex {
	t := &tagIndex{
		client: client, categories: categories, log: log, changed: changed,
		refresh: cfg.TagRefresh, pause: cfg.TagPause, wake: make(chan struct{}, 1),
	}
	t.state.Store(&tagState{})
	return t
}

// follow says whether events tell of every tag that is attached or detached.
func (t *tagIndex) follow(ok bool) { t.following.Store(ok) }

// event says that a tag was attached or detached.
func (t *tagIndex) event() { notify.Wake(t.wake) }

// missed asks for an early reading: somebody found no tag where one should be.
func (t *tagIndex) missed() {
	least := tagsMissed
	if !t.following.Load() {
		least = tagsPause
	}
	t.mu.Lock()
	now := time.Now()
	due := now.Sub(t.missAt) >= least
	if due {
		t.missAt = now
	}
	t.mu.Unlock()
	if due {
		notify.Wake(t.wake)
	}
}

// run reads the tags on a timer, and early after an event or a miss, until ctx ends.
func (t *tagIndex) run(ctx context.Context) {
	if len(t.categories) == 0 {
		return
	}
	for {
		if _, err := t.client.Wait(ctx); err != nil {
			return
		}
		select {
		case <-t.wake: // answered by the reading that begins
		default:
		}
		err := t.readOnce(ctx)
		if !t.idle(ctx, err != nil) {
			return
		}
	}
}

// idle waits for the next reading; false when ctx ends.
func (t *tagIndex) idle(ctx context.Context, failed bool) bool {
	most := tagsAlone
	switch {
	case t.refresh > 0:
		most = t.refresh
	case t.following.Load() && t.fruitless == 0: // an event may be told before what it tells of can be read
		most = tagsFollowed
	}
	if failed {
		most = min(most, tagsFailed)
	}
	least := backoff.Backoff{Min: t.pause, Max: max(t.pause, tagsSlowest)} // of other people's tags, which change
	timer, pause := time.NewTimer(most), time.NewTimer(min(least.After(t.fruitless-2), most))
	defer timer.Stop()
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return false
	}
	select {
	case <-t.wake:
		t.woken = true
	case <-timer.C:
		t.woken = false
	case <-ctx.Done():
		return false
	}
	return true
}

// readOnce reads all categories.
func (t *tagIndex) readOnce(ctx context.Context) error {
	old := t.state.Load()
	fresh, err := t.reader.read(ctx, t.client, append(slices.Clone(t.categories), Category{Name: preferredCategory}))
	if err != nil {
		if ctx.Err() == nil && (old.err == nil || old.err.Error() != err.Error()) && !errors.Is(err, vcenter.ErrNotConnected) {
			t.log.Warn("read tags", "err", err)
		}
		kept := *old
		kept.err = err
		t.state.Store(&kept)
		return err
	}
	t.state.Store(fresh)
	differs := !fresh.same(old)
	if t.fruitless++; differs || !t.woken {
		t.fruitless = 0
	}
	if differs {
		t.changed()
	}
	return nil
}
