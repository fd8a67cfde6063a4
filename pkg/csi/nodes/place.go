package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

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
