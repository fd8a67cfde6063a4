package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// Places implements [volume.Nodes]. For each required segment, preferred ones first and in their order, it returns the
// datastores that all its hosts mount and can use, those with the most free space first. The datastores are
// accessible, not in maintenance mode, not suspended for CNS, and match the required space, URL and policy. A segment that is
// only a part of a node's topology (a region alone) stands for all segments in it. Datastores that are preferred in a segment
// form a separate place before the others: as upstream, those with a tag of category cns.vmware.topology-preferred-datastores
// that is named like a value of the segment. Without any required segment, all nodes must be in one vCenter and reach the
// datastores.
//
// Nodes without a VM in an inventory, and vCenters that are unreachable, are skipped. If nothing is found and one of those might
// have matched, the error is volume.ErrUnavailable. Otherwise it is volume.ErrNoDatastore, joined with volume.ErrNoSpace if a
// datastore lacked only space, or volume.ErrPermission if the account may not read storage policies.
func (n *Nodes) Places(ctx context.Context, r volume.Requirement) ([]volume.Place, error) {
	l := n.current()
	if !l.known {
		return nil, fmt.Errorf("%w: %w", volume.ErrUnavailable, errNodesUnknown)
	}
	s := &placement{nodes: n, layout: l, want: r, policies: map[*member]policyAnswer{}}
	if len(r.Requisite) == 0 && len(r.Preferred) == 0 {
		s.withoutTopology(ctx)
	} else {
		s.segments(ctx)
	}
	if len(s.choices) == 0 {
		return nil, s.error()
	}
	var places []volume.Place
	for _, c := range s.choices {
		places = append(places, c.places(l)...)
	}
	return places, nil
}

// SegmentsOf implements [volume.Nodes]. Without categories it returns none. Errors: volume.ErrNotFound if the vCenter has no
// datastore with that URL, and volume.ErrUnavailable.
func (n *Nodes) SegmentsOf(_ context.Context, vcenter, datastoreURL string) ([]volume.Segment, error) {
	m, err := n.member(vcenter)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", volume.ErrUnavailable, err)
	}
	if !m.inSync() {
		return nil, fmt.Errorf("%w: %w", volume.ErrUnavailable, m.doubt())
	}
	stores := m.inventory.stores()
	i := slices.IndexFunc(stores, func(d *datastore) bool { return sameURL(d.url, datastoreURL) })
	if i < 0 {
		return nil, fmt.Errorf("vcenter %q: datastore %q: %w", vcenter, datastoreURL, volume.ErrNotFound)
	}
	return n.current().reaching(m, stores[i:i+1]), nil
}

// reaching returns the segments whose nodes are all in this vCenter and reach all the datastores.
func (l *layout) reaching(m *member, stores []*datastore) (all []volume.Segment) {
	for _, s := range l.segments {
		if members := s.members(); len(members) != 1 || members[0] != m {
			continue
		}
		if !slices.ContainsFunc(stores, func(d *datastore) bool { return d.unreachableFrom(s.hosts) != "" }) {
			all = append(all, s.of)
		}
	}
	return all
}

// placement is one call of Places.
type placement struct {
	nodes    *Nodes
	layout   *layout
	want     volume.Requirement
	policies map[*member]policyAnswer // of this call

	url, policy tally // of the required ones
	choices     []choice
	ruledOut    []string // "where: what: why"
	space       bool     // a datastore lacked only space
	denied      bool     // the account may not read policies in a vCenter
	doubt       error    // what could not be queried
}

// tally counts where something exists and where it does not.
type tally struct{ found, missed int }

func (t tally) nowhere() bool { return t.missed > 0 && t.found == 0 }

type policyAnswer struct {
	id  string
	err error
}

// withoutTopology finds datastores that all nodes reach.
func (s *placement) withoutTopology(ctx context.Context) {
	all := &segment{nodes: s.layout.nodes, hosts: perHost(s.layout.nodes)}
	members := all.members()
	for _, m := range *s.nodes.members.Load() {
		if err := m.doubt(); err != nil {
			s.addDoubt(err)
		}
	}
	if s.doubt != nil && len(s.layout.lost) > 0 {
		// These may be the nodes that do not reach the datastores of the others, and the scheduler would not know.
		s.exclude("", "nodes have no VM in a reachable vcenter"+s.lostNodes())
		return
	}
	switch len(members) {
	case 0:
		s.exclude("", "no node of the cluster has a VM in a configured vcenter"+s.lostNodes())
	case 1:
		if c, ok := s.choose(ctx, members[0], all); ok {
			s.choices = append(s.choices, c)
		}
	default:
		names := make([]string, 0, len(members))
		for _, m := range members {
			names = append(names, fmt.Sprintf("%q", m.name()))
		}
		s.exclude("", "nodes are in several vcenters ("+strings.Join(names, ", ")+
			"), no datastore is reachable from all of them, and the request has no topology")
	}
}

// lostNodes lists nodes without a VM in an inventory, with the reasons.
func (s *placement) lostNodes() string {
	var all []string
	for _, node := range s.layout.lost {
		all = append(all, fmt.Sprintf("%s: %v", node.name, node.err))
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + joinReasons(all) + ")"
}

// segments finds datastores in the required segments.
func (s *placement) segments(ctx context.Context) {
	done := map[string]bool{}
	for _, want := range s.want.Preferred {
		s.term(ctx, want, done)
	}
	preferred := len(s.choices)
	for _, want := range s.want.Requisite {
		s.term(ctx, want, done)
	}
	byFree(s.choices[preferred:])
}

// term finds datastores in the segments that match one term of the requirement.
func (s *placement) term(ctx context.Context, want volume.Segment, done map[string]bool) {
	var found []choice
	matched := false
	for _, in := range s.layout.segments {
		if !within(in.of, want) {
			continue
		}
		matched = true
		if done[in.key] {
			continue
		}
		done[in.key] = true
		members := in.members()
		if len(members) > 1 {
			s.exclude(segmentText(in.of), fmt.Sprintf("its nodes are in several vcenters: %s in %q, %s in %q",
				in.nodes[0].name, in.nodes[0].in.name(), in.nodes[len(in.nodes)-1].name, in.nodes[len(in.nodes)-1].in.name()))
			continue
		}
		if c, ok := s.choose(ctx, members[0], in); ok {
			found = append(found, c)
		}
	}
	if !matched {
		s.exclude(segmentText(want), "no node is in it"+s.foreignKeys(want)+s.unplacedNodes())
		for _, m := range *s.nodes.members.Load() {
			if err := m.doubt(); err != nil {
				s.addDoubt(err)
			}
		}
	}
	byFree(found)
	s.choices = append(s.choices, found...)
}

// foreignKeys names the topology keys of a term that no segment has, and the keys that segments have.
func (s *placement) foreignKeys(want volume.Segment) string {
	known := map[string]bool{}
	for _, in := range s.layout.segments {
		for key := range in.of {
			known[key] = true
		}
	}
	var foreign []string
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if !known[key] {
			foreign = append(foreign, key)
		}
	}
	if len(foreign) == 0 || len(known) == 0 {
		return ""
	}
	return fmt.Sprintf(": %s is not a topology key of this driver: use %s", strings.Join(foreign, ", "), strings.Join(slices.Sorted(maps.Keys(known)), ", "))
}

// unplacedNodes lists the nodes without a segment, with the reasons.
func (s *placement) unplacedNodes() string {
	var all []string
	for _, node := range s.layout.nodes {
		if node.err != nil {
			all = append(all, node.err.Error())
		}
	}
	for _, node := range s.layout.lost {
		all = append(all, fmt.Sprintf("node %q: %v", node.name, node.err))
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + joinReasons(all) + ")"
}

func (s *placement) exclude(where, why string) {
	if where != "" {
		why = where + ": " + why
	}
	if !slices.Contains(s.ruledOut, why) { // preferred terms are also among the required ones
		s.ruledOut = append(s.ruledOut, why)
	}
}

// addDoubt records what could not be queried, once.
func (s *placement) addDoubt(err error) {
	if s.doubt == nil || !strings.Contains(s.doubt.Error(), err.Error()) {
		s.doubt = errors.Join(s.doubt, err)
	}
}

func (s *placement) error() error {
	why := joinReasons(s.ruledOut)
	switch {
	case s.doubt != nil:
		return fmt.Errorf("%w: %w: %s", volume.ErrUnavailable, s.doubt, why)
	case s.denied:
		return fmt.Errorf("%w: %s", volume.ErrPermission, why)
	case s.url.nowhere() || s.policy.nowhere():
		return fmt.Errorf("%w: %s", volume.ErrNotFound, why)
	case s.space:
		return fmt.Errorf("%w: %w: %s", volume.ErrNoDatastore, volume.ErrNoSpace, why)
	}
	return fmt.Errorf("%w: %s", volume.ErrNoDatastore, why)
}

// maxReasons is how many reasons an error contains.
const maxReasons = 20

func joinReasons(reasons []string) string {
	if len(reasons) > maxReasons {
		reasons = append(slices.Clone(reasons[:maxReasons]), fmt.Sprintf("and %d more", len(reasons)-maxReasons))
	}
	return strings.Join(reasons, "; ")
}

// choice is the datastores of one vCenter that all nodes of a segment, or all nodes, reach, most free space first.
type choice struct {
	in     *member
	of     volume.Segment // nil for all nodes
	policy string         // id
	stores []*datastore
}

// choose returns the choice for nodes that are all in one vCenter. Without one it returns false and records the reasons.
func (s *placement) choose(ctx context.Context, m *member, seg *segment) (c choice, ok bool) {
	if err := m.doubt(); err != nil {
		s.addDoubt(err)
		return c, false
	}
	where := ""
	if seg.of != nil {
		where = segmentText(seg.of)
	}
	c = choice{in: m, of: seg.of, stores: s.fit(m, where, seg.hosts)}
	if s.want.Policy != "" && len(c.stores) > 0 {
		var err error
		switch c.policy, c.stores, err = s.accepted(ctx, m, where, c.stores); {
		case vcenter.Denied(err): // a retry does not help, but another vCenter may match
			s.denied = true
			s.exclude(where, err.Error())
			return c, false
		case err != nil:
			s.addDoubt(err)
			return c, false
		}
	}
	slices.SortStableFunc(c.stores, func(a, b *datastore) int { return cmp.Compare(b.free, a.free) })
	return c, len(c.stores) > 0
}

// places converts the choice: datastores that are preferred in the segment form a separate place before the rest.
func (c choice) places(l *layout) (all []volume.Place) {
	first := slices.DeleteFunc(slices.Clone(c.stores), func(d *datastore) bool { return !c.in.prefers(d, c.of) })
	rest := slices.DeleteFunc(slices.Clone(c.stores), func(d *datastore) bool { return c.in.prefers(d, c.of) })
	for _, stores := range [...][]*datastore{first, rest} {
		if len(stores) == 0 {
			continue
		}
		p := volume.Place{VCenter: c.in.name(), PolicyID: c.policy, Segments: l.reaching(c.in, stores)}
		for _, d := range stores {
			p.Datastores = append(p.Datastores, d.export(c.in))
		}
		all = append(all, p)
	}
	return all
}

// fit returns the datastores that match everything but the policy, which is checked later.
func (s *placement) fit(m *member, where string, nodes []*placedNode) (fit []*datastore) {
	stores := m.inventory.stores()
	if url := s.want.DatastoreURL; url != "" {
		hint := ""
		if i := slices.IndexFunc(stores, func(d *datastore) bool { return d.name == path.Base(url) }); i >= 0 {
			hint = ": write its URL, " + stores[i].url
		}
		if stores = slices.DeleteFunc(stores, func(d *datastore) bool { return !sameURL(d.url, url) }); len(stores) == 0 {
			s.exclude(where, fmt.Sprintf("vcenter %q has no datastore with the URL %q%s", m.name(), url, hint))
			s.missed(url)
			return nil
		}
		s.url.found++
	}
	far := 0
	for _, d := range stores {
		if s.want.DatastoreURL == "" && !d.mountedByAny(nodes) {
			far++ // not used by this cluster
			continue
		}
		why, short := d.unreachableFrom(nodes), false
		if why == "" && s.want.Share && !strings.EqualFold(d.kind, "vsan") {
			why = "is of type " + d.kind + ": file volumes need a vSAN datastore with a file service"
		}
		if why == "" {
			why, short = d.unusable(s.want.Capacity)
		}
		if why == "" {
			fit = append(fit, d)
			continue
		}
		s.space = s.space || short
		s.exclude(where, d.name+": "+why)
	}
	if far == len(stores) {
		s.exclude(where, fmt.Sprintf("no host of its nodes mounts any datastore of vcenter %q", m.name()))
	}
	return fit
}

// missed records that no vCenter has the datastore. If one has it, it is only out of reach here.
func (s *placement) missed(url string) {
	for _, m := range *s.nodes.members.Load() {
		if slices.ContainsFunc(m.inventory.stores(), func(d *datastore) bool { return sameURL(d.url, url) }) {
			s.url.found++
			return
		}
	}
	s.url.missed++
}

// accepted returns the datastores that the storage policy accepts.
func (s *placement) accepted(ctx context.Context, m *member, where string, stores []*datastore) (string, []*datastore, error) {
	answer, asked := s.policies[m]
	if !asked {
		answer.id, answer.err = m.policy(ctx, s.want.Policy)
		s.policies[m] = answer
	}
	switch {
	case errors.Is(answer.err, errNoPolicy):
		s.exclude(where, answer.err.Error())
		s.policy.missed++
		return "", nil, nil
	case answer.err != nil:
		return "", nil, answer.err
	}
	s.policy.found++
	compatible, err := m.compatible(ctx, answer.id, stores)
	if err != nil {
		return "", nil, err
	}
	var fit []*datastore
	for _, d := range stores {
		if compatible[d.ref] {
			fit = append(fit, d)
			continue
		}
		s.exclude(where, fmt.Sprintf("%s: not compatible with storage policy %q", d.name, s.want.Policy))
	}
	return answer.id, fit, nil
}

// byFree sorts choices by the most free space of a datastore.
func byFree(all []choice) {
	slices.SortStableFunc(all, func(a, b choice) int { return cmp.Compare(b.stores[0].free, a.stores[0].free) })
}
