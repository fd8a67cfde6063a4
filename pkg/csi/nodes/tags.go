package nodes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/notify"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/tagged"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// How often tags are read. If events report tags, the timer only finds renamed or deleted tags and categories.
const (
	tagsFollowed = 5 * time.Minute
	tagsAlone    = time.Minute
	tagsFailed   = 5 * time.Second
	tagsPause    = 300 * time.Millisecond
	tagsMissed   = 10 * time.Second // how often a miss counts if events report tags
	tagsSlowest  = 5 * time.Second
)

// preferredCategory is the tag category of preferred datastores: a tag on a datastore makes it preferred in segments with a
// value of the tag's name (upstream pkg/csi/service/common/constants.go).
const preferredCategory = "cns.vmware.topology-preferred-datastores"

// tagState is the result of reading tags; it is immutable.
type tagState struct {
	// of is by category, in the order of the configuration, and preferredCategory at the end; nil for a category that does not
	// exist.
	of   []tagged.Objects
	read bool  // tags have been read completely
	err  error // of the last read
}

func (s *tagState) same(other *tagState) bool {
	return s.read == other.read && slices.EqualFunc(s.of, other.of, func(a, b tagged.Objects) bool {
		return (a == nil) == (b == nil) && maps.EqualFunc(a, b, slices.Equal)
	})
}

// tagIndex records which objects of one vCenter have which tags. While the REST API is unavailable, the last state stays in
// use.
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

	// Used only by run.
	reader    tagged.Reader
	woken     bool // the read was triggered
	fruitless int  // triggered reads that changed nothing, in a row
}

func newTagIndex(cfg *Config, client *vcenter.Client, categories []Category, log *slog.Logger, changed func()) *tagIndex {
	t := &tagIndex{
		client: client, categories: categories, log: log, changed: changed,
		refresh: cfg.TagRefresh, pause: cfg.TagPause, wake: make(chan struct{}, 1),
	}
	t.state.Store(&tagState{})
	return t
}

// follow sets whether events report every attached or detached tag.
func (t *tagIndex) follow(ok bool) { t.following.Store(ok) }

// event records that a tag was attached or detached.
func (t *tagIndex) event() { notify.Wake(t.wake) }

// missed requests an early read, because a lookup found no tag.
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

// run reads the tags on a timer, and earlier after an event or a miss, until ctx ends.
func (t *tagIndex) run(ctx context.Context) {
	if len(t.categories) == 0 {
		return
	}
	for {
		if _, err := t.client.Wait(ctx); err != nil {
			return
		}
		select {
		case <-t.wake: // the next read covers it
		default:
		}
		err := t.readOnce(ctx)
		if !t.idle(ctx, err != nil) {
			return
		}
	}
}

// idle waits for the next read; false when ctx ends.
func (t *tagIndex) idle(ctx context.Context, failed bool) bool {
	most := tagsAlone
	switch {
	case t.refresh > 0:
		most = t.refresh
	case t.following.Load() && t.fruitless == 0: // an event may arrive before its change is readable
		most = tagsFollowed
	}
	if failed {
		most = min(most, tagsFailed)
	}
	least := backoff.Backoff{Min: t.pause, Max: max(t.pause, tagsSlowest)} // for events about other tags
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

func (t *tagIndex) readOnce(ctx context.Context) error {
	old := t.state.Load()
	var wanted []string
	for _, c := range t.categories {
		wanted = append(wanted, c.Name)
	}
	of, err := t.reader.Read(ctx, t.call, append(wanted, preferredCategory)...)
	if err != nil {
		if ctx.Err() == nil && (old.err == nil || old.err.Error() != err.Error()) && !errors.Is(err, vcenter.ErrNotConnected) {
			t.log.Warn("cannot read tags", "err", err)
		}
		kept := *old
		kept.err = err
		t.state.Store(&kept)
		return err
	}
	fresh := &tagState{of: of, read: true}
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

// call runs one call with a separate timeout.
func (t *tagIndex) call(ctx context.Context, f func(context.Context, *tags.Manager) error) error {
	return t.client.DoREST(ctx, func(ctx context.Context, rc *rest.Client) error { return f(ctx, tags.NewManager(rc)) })
}

// MissingTagError reports that a node has no tag of a category, with the details that are needed to fix it. It is not a
// failure of the vCenter.
type MissingTagError struct {
	Node, VM, VCenter string
	// Category is the first category without a tag; NoCategory reports that the vCenter has no category with that name.
	Category   string
	NoCategory bool
	// Visited lists the visited objects in order: HostSystem "west-1".
	Visited []string
}

// Error returns a message with the category, the node and the visited objects.
func (e *MissingTagError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "node %q: no tag of category %q on any of %s in vcenter %q", e.Node, e.Category, strings.Join(e.Visited, ", "), e.VCenter)
	if e.NoCategory {
		fmt.Fprintf(&b, ", which has no category with that name")
	}
	return b.String()
}

// segment returns the topology of a VM in the inventory; see the package comment. Without categories it is nil. Errors: a
// [*MissingTagError], and one that wraps volume.ErrUnavailable before the first read of the tags.
func (m *member) segment(node string, v *vm) (volume.Segment, error) {
	if len(m.categories) == 0 {
		return nil, nil
	}
	tags := m.tags.state.Load()
	if !tags.read {
		if tags.err != nil {
			return nil, fmt.Errorf("%w: vcenter %q: tags: %w", volume.ErrUnavailable, m.name(), tags.err)
		}
		return nil, fmt.Errorf("%w: vcenter %q: tags not read yet", volume.ErrUnavailable, m.name())
	}
	s, missing := m.inventory.segmentOf(v, m.categories, tags)
	if missing < 0 {
		return s, nil
	}
	m.tags.missed()
	m.inventory.mu.RLock()
	defer m.inventory.mu.RUnlock()
	return nil, &MissingTagError{
		Node: node, VM: v.name, VCenter: m.name(), Category: m.categories[missing].Name, NoCategory: tags.of[missing] == nil, Visited: m.inventory.walked(v),
	}
}

// hostsBySegment returns the connected hosts that are not in maintenance mode, by the key of their segment.
func (m *member) hostsBySegment() map[string][]*placedNode {
	tags := m.tags.state.Load()
	if len(m.categories) == 0 || !tags.read {
		return nil
	}
	all := map[string][]*placedNode{}
	for _, host := range m.inventory.usableHosts() {
		at := &vm{host: host}
		if !m.inventory.inside(at, m.datacenters) {
			continue
		}
		if s, missing := m.inventory.segmentOf(at, m.categories, tags); missing < 0 {
			all[segmentKey(s)] = append(all[segmentKey(s)], &placedNode{in: m, vm: at, segment: s})
		}
	}
	return all
}

// usableHosts returns the hosts that a VM may be moved to, by reference.
func (p *inventory) usableHosts() (hosts []ref) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for r, e := range p.entities {
		if r.Type == "HostSystem" && !e.disconnected && !e.maintenance {
			hosts = append(hosts, r)
		}
	}
	slices.SortFunc(hosts, func(a, b ref) int { return strings.Compare(a.Value, b.Value) })
	return hosts
}

// segmentOf returns the segment of a VM, or the index of the first category that it has no tag of; -1 for none.
func (p *inventory) segmentOf(v *vm, categories []Category, tags *tagState) (s volume.Segment, missing int) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	s = volume.Segment{}
	for i, c := range categories {
		tag, ok := p.nearest(v, tags.of[i])
		if !ok {
			return nil, i
		}
		s[c.key()] = tag
	}
	return s, -1
}

// nearest returns the tag on the nearest object. The lock is held.
func (p *inventory) nearest(v *vm, tags tagged.Objects) (string, bool) {
	for _, start := range [...]ref{v.host, v.pool, v.ref} {
		for r, n := start, 0; r.Value != "" && n < maxDepth; r, n = p.up(r), n+1 {
			if names := tags[r]; len(names) > 0 {
				return names[0], true
			}
		}
	}
	return "", false
}

func (m *member) prefers(d *datastore, in volume.Segment) bool {
	tags := m.tags.state.Load()
	if !tags.read {
		return false
	}
	names := tags.of[len(tags.of)-1][d.ref]
	for _, value := range in {
		if slices.Contains(names, value) {
			return true
		}
	}
	return false
}

// walked lists the objects that nearest visits, once each. The lock is held.
func (p *inventory) walked(v *vm) (all []string) {
	seen := map[ref]bool{}
	for _, start := range [...]ref{v.host, v.pool, v.ref} {
		for r := start; r.Value != "" && !seen[r]; r = p.up(r) {
			seen[r] = true
			all = append(all, fmt.Sprintf("%s %q", r.Type, p.name(r)))
		}
	}
	return all
}

// within reports whether segment s is in segment of, which may be larger.
func within(s, of volume.Segment) bool {
	for k, v := range of {
		if s[k] != v {
			return false
		}
	}
	return true
}

// segmentKey returns a segment in a comparable form.
func segmentKey(s volume.Segment) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, "%s=%s\n", k, s[k])
	}
	return b.String()
}

// segmentText returns a segment for messages: "k8s-region=us, k8s-zone=us-west".
func segmentText(s volume.Segment) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(s)) {
		parts = append(parts, k[strings.LastIndexByte(k, '/')+1:]+"="+s[k])
	}
	if len(parts) == 0 {
		return "anywhere"
	}
	return strings.Join(parts, ", ")
}
