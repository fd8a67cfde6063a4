package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// Places implements [volume.Nodes]. For each segment that is asked for, those preferred first and in their order, it
// returns the datastores that the hosts of all its nodes mount and can use, which are accessible, in no maintenance, not suspended for
// CNS, have the space, the URL and the policy that are asked for; those with the most free space first. A segment that is less
// than a node's whole topology (a region alone) stands for all segments in it. Datastores that are preferred in a segment
// come as a place of their own before the others: those with a tag of category cns.vmware.topology-preferred-datastores
// that is named as a value of the segment, as upstream has it. Without any segment, the datastores have to be
// within reach of all nodes, and all nodes in one vCenter.
//
// A node whose VM is in no picture does not count, nor does a vCenter that is out of reach. When nothing is found and one
// of those might have had something, the error is volume.ErrUnavailable; else it is volume.ErrNoDatastore, joined with
// volume.ErrNoSpace where space was all that lacked somewhere. Where the account may not ask for storage policies it is
// volume.ErrPermission.
func (n *Nodes) Places(ctx context.Context, r volume.Requirement) ([]volume.Place, error) {
	l := n.current()
	if !l.known {
		return nil, fmt.Errorf("%w: %w", volume.ErrUnavailable, errNodesUnknown)
	}
	s := &placing{nodes: n, layout: l, want: r, policies: map[*member]policyAnswer{}}
	if len(r.Requisite) == 0 && len(r.Preferred) == 0 {
		s.anywhere(ctx)
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

// SegmentsOf implements [volume.Nodes]. Without categories there are none. Errors: volume.ErrNotFound, when the vCenter
// has no datastore of that URL, and volume.ErrUnavailable.
func (n *Nodes) SegmentsOf(_ context.Context, vcenter, datastoreURL string) ([]volume.Segment, error) {
	m, err := n.member(vcenter)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", volume.ErrUnavailable, err)
	}
	if !m.inSync() {
		return nil, fmt.Errorf("%w: %w", volume.ErrUnavailable, m.doubt())
	}
	stores := m.picture.stores()
	i := slices.IndexFunc(stores, func(d *datastore) bool { return sameURL(d.url, datastoreURL) })
	if i < 0 {
		return nil, fmt.Errorf("vcenter %q: datastore %q: %w", vcenter, datastoreURL, volume.ErrNotFound)
	}
	return n.current().reaching(m, stores[i:i+1]), nil
}

// reaching returns the segments whose nodes, all of this vCenter, reach all the datastores.
func (l *layout) reaching(m *member, stores []*datastore) (all []volume.Segment) {
	for _, s := range l.segments {
		if members := s.members(); len(members) != 1 || members[0] != m {
			continue
		}
		if !slices.ContainsFunc(stores, func(d *datastore) bool { return d.unreached(s.hosts) != "" }) {
			all = append(all, s.of)
		}
	}
	return all
}

// placing is one search for places.
type placing struct {
	nodes    *Nodes
	layout   *layout
	want     volume.Requirement
	policies map[*member]policyAnswer // answers of this search

	url, policy tally // of what is asked for by name
	choices     []choice
	ruledOut    []string // "where: what: why"
	space       bool     // somewhere space was all that lacked
	denied      bool     // somewhere the account may not ask for policies
	doubt       error    // what could not be asked
}

// tally counts where something was found, and where it was not.
type tally struct{ found, missed int }

func (t tally) nowhere() bool { return t.missed > 0 && t.found == 0 }

type policyAnswer struct {
	id  string
	err error
}

// anywhere looks for what all nodes reach.
func (s *placing) anywhere(ctx context.Context) {
	all := &segment{nodes: s.layout.nodes, hosts: perHost(s.layout.nodes)}
	members := all.members()
	for _, m := range *s.nodes.members.Load() {
		if err := m.doubt(); err != nil {
			s.doubted(err)
		}
	}
	if s.doubt != nil && len(s.layout.lost) > 0 {
		// Those may be the nodes that do not reach what the others do, and nothing would tell the scheduler.
		s.note("", "nodes are in no vcenter that answers"+s.strays())
		return
	}
	switch len(members) {
	case 0:
		s.note("", "no node of the cluster is a VM of a configured vcenter"+s.strays())
	case 1:
		if c, ok := s.choose(ctx, members[0], all); ok {
			s.choices = append(s.choices, c)
		}
	default:
		names := make([]string, 0, len(members))
		for _, m := range members {
			names = append(names, fmt.Sprintf("%q", m.name()))
		}
		s.note("", "nodes are in several vcenters ("+strings.Join(names, ", ")+
			"), no datastore is within reach of all of them, and no topology is asked for")
	}
}

// strays says why nodes are in no picture.
func (s *placing) strays() string {
	var all []string
	for _, node := range s.layout.lost {
		all = append(all, fmt.Sprintf("%s: %v", node.name, node.err))
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + some(all) + ")"
}

// segments looks in the segments that are asked for.
func (s *placing) segments(ctx context.Context) {
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

// term looks in the segments that one term of the requirement stands for.
func (s *placing) term(ctx context.Context, want volume.Segment, done map[string]bool) {
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
			s.note(segmentText(in.of), fmt.Sprintf("its nodes are in several vcenters: %s in %q, %s in %q",
				in.nodes[0].name, in.nodes[0].in.name(), in.nodes[len(in.nodes)-1].name, in.nodes[len(in.nodes)-1].in.name()))
			continue
		}
		if c, ok := s.choose(ctx, members[0], in); ok {
			found = append(found, c)
		}
	}
	if !matched {
		s.note(segmentText(want), "no node is in it"+s.untold())
		for _, m := range *s.nodes.members.Load() {
			if err := m.doubt(); err != nil {
				s.doubted(err)
			}
		}
	}
	byFree(found)
	s.choices = append(s.choices, found...)
}

// untold says which nodes are in no segment, and why.
func (s *placing) untold() string {
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
	return " (" + some(all) + ")"
}

func (s *placing) note(where, why string) {
	if where != "" {
		why = where + ": " + why
	}
	if !slices.Contains(s.ruledOut, why) { // what is preferred is required, too
		s.ruledOut = append(s.ruledOut, why)
	}
}

// doubted notes what could not be asked, once.
func (s *placing) doubted(err error) {
	if s.doubt == nil || !strings.Contains(s.doubt.Error(), err.Error()) {
		s.doubt = errors.Join(s.doubt, err)
	}
}

func (s *placing) error() error {
	why := some(s.ruledOut)
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

// most is how many reasons an error lists.
const most = 20

func some(reasons []string) string {
	if len(reasons) > most {
		reasons = append(slices.Clone(reasons[:most]), fmt.Sprintf("and %d more", len(reasons)-most))
	}
	return strings.Join(reasons, "; ")
}

// choice is what the nodes of one segment, or all, offer: datastores of one vCenter, those with the most free space first.
type choice struct {
	in     *member
	of     volume.Segment // nil for all nodes
	policy string         // id
	stores []*datastore
}

// choose returns what the nodes, all of one vCenter, offer; false when nothing does, with the reasons noted.
func (s *placing) choose(ctx context.Context, m *member, seg *segment) (c choice, ok bool) {
	if err := m.doubt(); err != nil {
		s.doubted(err)
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
		case vcenter.Denied(err): // asking again is of no use, and another vCenter may do
			s.denied = true
			s.note(where, err.Error())
			return c, false
		case err != nil:
			s.doubted(err)
			return c, false
		}
	}
	slices.SortStableFunc(c.stores, func(a, b *datastore) int { return cmp.Compare(b.free, a.free) })
	return c, len(c.stores) > 0
}

// places are the choice as the caller sees it: those of its datastores that are preferred in the segment come as a place
// of their own, before the rest.
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

// fit returns the datastores that are ruled out by nothing but, maybe, the policy.
func (s *placing) fit(m *member, where string, nodes []*located) (fit []*datastore) {
	stores := m.picture.stores()
	if url := s.want.DatastoreURL; url != "" {
		if stores = slices.DeleteFunc(stores, func(d *datastore) bool { return !sameURL(d.url, url) }); len(stores) == 0 {
			s.note(where, fmt.Sprintf("vcenter %q has no datastore %q", m.name(), url))
			s.missed(url)
			return nil
		}
		s.url.found++
	}
	far := 0
	for _, d := range stores {
		if s.want.DatastoreURL == "" && !d.near(nodes) {
			far++ // somebody else's
			continue
		}
		why, short := d.unreached(nodes), false
		if why == "" {
			why, short = d.unfit(s.want.Capacity)
		}
		if why == "" {
			fit = append(fit, d)
			continue
		}
		s.space = s.space || short
		s.note(where, d.name+": "+why)
	}
	if far == len(stores) {
		s.note(where, fmt.Sprintf("no host of its nodes mounts any datastore of vcenter %q", m.name()))
	}
	return fit
}

// missed notes that a vCenter does not have the datastore, if none has it: elsewhere it is merely out of reach.
func (s *placing) missed(url string) {
	for _, m := range *s.nodes.members.Load() {
		if slices.ContainsFunc(m.picture.stores(), func(d *datastore) bool { return sameURL(d.url, url) }) {
			s.url.found++
			return
		}
	}
	s.url.missed++
}

// accepted returns those of the datastores that the storage policy accepts.
func (s *placing) accepted(ctx context.Context, m *member, where string, stores []*datastore) (string, []*datastore, error) {
	answer, asked := s.policies[m]
	if !asked {
		answer.id, answer.err = m.policy(ctx, s.want.Policy)
		s.policies[m] = answer
	}
	switch {
	case errors.Is(answer.err, errNoPolicy):
		s.note(where, answer.err.Error())
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
		s.note(where, fmt.Sprintf("%s: not compatible with storage policy %q", d.name, s.want.Policy))
	}
	return answer.id, fit, nil
}

// byFree puts choices in order of the most free space that a datastore of theirs has.
func byFree(all []choice) {
	slices.SortStableFunc(all, func(a, b choice) int { return cmp.Compare(b.stores[0].free, a.stores[0].free) })
}
