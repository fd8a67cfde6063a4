package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Nodes implements [volume.Nodes]. Make one with [New] and give it a goroutine with [Nodes.Run]; all other methods may be
// called from any goroutine at any time.
type Nodes struct {
	cfg Config

	members atomic.Pointer[[]*member]
	reset   chan struct{} // members were replaced
	version atomic.Uint64 // counts what may move nodes
	wake    chan struct{} // the version has changed

	spelled spelled

	moved notify.Listeners[[]string] // nodes of which the answer has changed
	any   notify.Listeners[struct{}] // the version has changed

	mu     sync.Mutex
	latest *layout // nil before it was asked for
}

var _ volume.Nodes = (*Nodes)(nil)

// New returns nodes of which nothing is known yet.
func New(cfg Config) (*Nodes, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.TagPause = cmp.Or(cfg.TagPause, tagsPause)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	n := &Nodes{cfg: cfg, reset: make(chan struct{}, 1), wake: make(chan struct{}, 1)}
	n.members.Store(new([]*member))
	n.replace(cfg.VCenters, cfg.Categories)
	return n, nil
}

// Set replaces vCenters and categories, without waiting: what is known of a vCenter whose client, datacenters and
// categories are as they were stays known. On an error everything stays as it is.
func (n *Nodes) Set(vcenters []VCenter, categories []Category) error {
	if err := check(vcenters, categories); err != nil {
		return err
	}
	n.replace(vcenters, categories)
	return nil
}

func (n *Nodes) replace(vcenters []VCenter, categories []Category) {
	n.mu.Lock()
	old := *n.members.Load()
	var members []*member
	for _, vc := range vcenters {
		i := slices.IndexFunc(old, func(m *member) bool {
			return m.client == vc.Client && slices.Equal(m.datacenters, vc.Datacenters) && slices.Equal(m.categories, categories)
		})
		if i >= 0 {
			members = append(members, old[i])
			continue
		}
		members = append(members, newMember(&n.cfg, vc, categories, n.changed))
	}
	n.members.Store(&members)
	n.mu.Unlock()
	notify.Wake(n.reset)
	n.changed()
}

// changed says that nodes may be somewhere else.
func (n *Nodes) changed() {
	n.version.Add(1)
	notify.Wake(n.wake)
	n.any.Tell(struct{}{})
}

// Run keeps the picture current until ctx ends, and returns nil. It is called once. The vCenters' clients have to run
// meanwhile.
func (n *Nodes) Run(ctx context.Context) error {
	defer n.cfg.Cluster.Listen(n.changed)()
	n.changed()
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	all.Go(func() { n.observe(ctx) })
	stops := map[*member]context.CancelFunc{}
	for {
		members := *n.members.Load()
		for _, m := range members {
			if stops[m] == nil {
				memberCtx, stop := context.WithCancel(ctx)
				stops[m] = stop
				all.Go(func() { m.run(memberCtx) })
			}
		}
		for m, stop := range stops {
			if !slices.Contains(members, m) {
				stop()
				delete(stops, m)
			}
		}
		select {
		case <-n.reset:
		case <-ctx.Done():
			return nil
		}
	}
}

// complete returns why not everything is known.
func (n *Nodes) complete() error {
	var errs []error
	if _, known := n.cfg.Cluster.Nodes(); !known {
		errs = append(errs, errNodesUnknown)
	}
	for _, m := range *n.members.Load() {
		if err := m.doubt(); err != nil {
			errs = append(errs, err)
		} else if s := m.tags.state.Load(); len(m.categories) > 0 && !s.read {
			errs = append(errs, errors.Join(fmt.Errorf("vcenter %q: tags not read yet", m.name()), s.err))
		}
	}
	return errors.Join(errs...)
}

var errNodesUnknown = errors.New("the cluster's nodes are not known yet")

// member returns the vCenter of that name.
func (n *Nodes) member(name string) (*member, error) {
	for _, m := range *n.members.Load() {
		if m.name() == name {
			return m, nil
		}
	}
	return nil, fmt.Errorf("vcenter %q is not configured", name)
}

// WaitSynced waits until the nodes are known and each vCenter's picture is complete with its tags read, or returns an
// error that says what is missing when ctx ends. Tags that cannot be read are waited for too.
func (n *Nodes) WaitSynced(ctx context.Context) error {
	woken := make(chan struct{}, 1)
	defer n.any.Listen(func(struct{}) { notify.Wake(woken) })()
	for {
		err := n.complete()
		if err == nil {
			return nil
		}
		select {
		case <-woken:
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}
