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

// attached maps an object to the names of its tags of one category, in order.
type attached map[ref][]string

// tagState is the result of reading tags; it is immutable.
type tagState struct {
	of     []attached // by category, in the order of the configuration, and preferredCategory at the end
	absent []bool     // the vCenter has no category with that name
	read   bool       // tags have been read completely
	err    error      // of the last read
}

func (s *tagState) same(other *tagState) bool {
	return s.read == other.read && slices.Equal(s.absent, other.absent) &&
		slices.EqualFunc(s.of, other.of, func(a, b attached) bool { return maps.EqualFunc(a, b, slices.Equal) })
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
	reader    tagReader
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
	fresh, err := t.reader.read(ctx, t.client, append(slices.Clone(t.categories), Category{Name: preferredCategory}))
	if err != nil {
		if ctx.Err() == nil && (old.err == nil || old.err.Error() != err.Error()) && !errors.Is(err, vcenter.ErrNotConnected) {
			t.log.Warn("cannot read tags", "err", err)
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

// tagReader reads one vCenter's tags with few calls: per read one list of tags per category and one list of attachments, plus
// one call for each category and tag with an unknown name. Names are read again every tagsFollowed, and when a known category
// or tag no longer exists.
type tagReader struct {
	learntAt   time.Time
	categories map[string]string // id → name
	names      map[string]string // tag id → name
}

// read returns the objects that the tags of each category are attached to.
func (r *tagReader) read(ctx context.Context, client *vcenter.Client, categories []Category) (s *tagState, err error) {
	if r.categories == nil || time.Since(r.learntAt) > tagsFollowed {
		r.learntAt, r.categories, r.names = time.Now(), map[string]string{}, map[string]string{}
	}
	defer func() {
		if vcenter.NotFound(err) {
			r.categories = nil // a category may have been deleted and created again
		}
	}()
	call := func(f func(context.Context, *tags.Manager) error) error {
		return client.DoREST(ctx, func(ctx context.Context, rc *rest.Client) error { return f(ctx, tags.NewManager(rc)) })
	}
	s = &tagState{of: make([]attached, len(categories)), absent: make([]bool, len(categories)), read: true}
	of := map[string][]int{} // tag id → indexes of categories; several keys may share one
	for i, c := range categories {
		s.of[i] = attached{}
		id, ok, err := r.category(call, c.Name)
		if err != nil {
			return nil, err
		}
		if s.absent[i] = !ok; !ok {
			continue // any category may get the name at any time: search for it at every read
		}
		ids, err := r.tags(call, id)
		if err != nil {
			return nil, fmt.Errorf("tags of category %q: %w", c.Name, err)
		}
		for _, id := range ids {
			of[id] = append(of[id], i)
		}
	}
	if len(of) == 0 {
		return s, nil
	}
	err = call(func(ctx context.Context, m *tags.Manager) error {
		objects, err := m.ListAttachedObjectsOnTags(ctx, slices.Sorted(maps.Keys(of)))
		for _, o := range objects {
			for _, i := range of[o.TagID] {
				for _, obj := range o.ObjectIDs {
					s.of[i].add(obj.Reference(), r.names[o.TagID])
				}
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list objects with tags: %w", err)
	}
	return s, nil
}

// add records a tag of an object. The names of one object stay in order, so that several tags of one category always give
// the same result.
func (a attached) add(r ref, name string) {
	names := a[r]
	if i, found := slices.BinarySearch(names, name); !found {
		a[r] = slices.Insert(names, i, name)
	}
}

type tagCall func(func(context.Context, *tags.Manager) error) error

// category finds a category by name, which the API cannot do.
func (r *tagReader) category(call tagCall, name string) (id string, ok bool, err error) {
	for id, n := range r.categories {
		if n == name {
			return id, true, nil
		}
	}
	var ids []string
	err = call(func(ctx context.Context, m *tags.Manager) (err error) {
		ids, err = m.ListCategories(ctx)
		return err
	})
	if err != nil {
		return "", false, fmt.Errorf("list tag categories: %w", err)
	}
	for _, id := range ids {
		if _, known := r.categories[id]; known {
			continue
		}
		err := call(func(ctx context.Context, m *tags.Manager) error {
			c, err := m.GetCategory(ctx, id)
			if err == nil {
				r.categories[id] = c.Name
			}
			return err
		})
		if err != nil && !vcenter.NotFound(err) {
			return "", false, fmt.Errorf("tag category %s: %w", id, err)
		}
		if r.categories[id] == name {
			return id, true, nil
		}
	}
	return "", false, nil
}

// tags lists the tags of a category and caches their names.
func (r *tagReader) tags(call tagCall, category string) (ids []string, err error) {
	err = call(func(ctx context.Context, m *tags.Manager) (err error) {
		ids, err = m.ListTagsForCategory(ctx, category)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, known := r.names[id]; known {
			continue
		}
		err := call(func(ctx context.Context, m *tags.Manager) error {
			tag, err := m.GetTag(ctx, id)
			if err == nil {
				r.names[id] = tag.Name
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("tag %s: %w", id, err)
		}
	}
	return ids, nil
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
		Node: node, VM: v.name, VCenter: m.name(), Category: m.categories[missing].Name, NoCategory: tags.absent[missing], Visited: m.inventory.walked(v),
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
func (p *inventory) nearest(v *vm, tags attached) (string, bool) {
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
