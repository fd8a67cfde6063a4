package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
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
