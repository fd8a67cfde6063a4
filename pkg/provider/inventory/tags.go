package inventory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// attached maps an object to the names of the tags on it, of one category, in order.
type attached map[types.ManagedObjectReference][]string

// tagIndex knows which objects of one vCenter carry which tags of the two categories. What was read last stays in use
// while the REST API cannot be read.
type tagIndex struct {
	client *vcenter.Client
	cfg    Config
	log    *slog.Logger
	early  chan struct{} // a lookup missed a tag

	reader tagReader // used by run alone

	mu           sync.Mutex
	region, zone attached
	readAt       time.Time // of the last complete reading; zero before the first
	err          error     // of the last reading
	ready        chan struct{}
}

func newTagIndex(client *vcenter.Client, cfg Config, log *slog.Logger) *tagIndex {
	return &tagIndex{client: client, cfg: cfg, log: log, early: make(chan struct{}, 1), ready: make(chan struct{})}
}

// run reads the tags on a timer, and early after a miss, until ctx ends.
func (t *tagIndex) run(ctx context.Context) error {
	if !t.cfg.Categories.enabled() {
		return nil
	}
	for {
		if _, err := t.client.Wait(ctx); err != nil {
			return err
		}
		err := t.refresh(ctx)
		pause := t.cfg.TagRefresh
		if err != nil {
			pause = min(pause, 5*time.Second)
		}
		if err := t.idle(ctx, pause); err != nil {
			return err
		}
	}
}

// idle waits for the next reading: pause at most, TagMissInterval at least.
func (t *tagIndex) idle(ctx context.Context, pause time.Duration) error {
	least := time.NewTimer(min(t.cfg.TagMissInterval, pause))
	defer least.Stop()
	most := time.NewTimer(pause)
	defer most.Stop()
	select {
	case <-least.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-t.early:
	case <-most.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// refresh reads both categories once.
func (t *tagIndex) refresh(ctx context.Context) error {
	read, err := t.reader.read(ctx, t.call, t.cfg.Categories.Region, t.cfg.Categories.Zone)
	t.mu.Lock()
	defer t.mu.Unlock()
	if ctx.Err() == nil && err != nil && (t.err == nil || t.err.Error() != err.Error()) {
		t.log.Warn("read tags", "err", err)
	}
	t.err = err
	if err == nil {
		t.region, t.zone, t.readAt = read[0], read[1], time.Now()
	}
	select {
	case <-t.ready:
	default:
		close(t.ready)
	}
	return err
}

// call runs one call under a call timeout of its own.
func (t *tagIndex) call(ctx context.Context, f func(context.Context, *tags.Manager) error) error {
	return t.client.DoREST(ctx, func(ctx context.Context, rc *rest.Client) error { return f(ctx, tags.NewManager(rc)) })
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
		return fmt.Errorf("vcenter %q: tags not read yet: %w", t.client.Name(), ctx.Err())
	}
}

// snapshot returns what was read last; err is why there is nothing, or nothing newer.
func (t *tagIndex) snapshot() (region, zone attached, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err = t.err
	if t.readAt.IsZero() && err == nil {
		err = errors.New("tags not read yet")
	}
	return t.region, t.zone, err
}

// missed asks for an early reading.
func (t *tagIndex) missed() {
	select {
	case t.early <- struct{}{}:
	default:
	}
}

// add notes that an object carries a tag. The names of one object stay in order, so that several tags of one category
// always give the same answer.
func (a attached) add(ref types.ManagedObjectReference, name string) {
	names := a[ref]
	if i, found := slices.BinarySearch(names, name); !found {
		a[ref] = slices.Insert(names, i, name)
	}
}
