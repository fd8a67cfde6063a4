package inventory

// Change says what happened to the index of one vCenter: the outcome of one batch of its updates. Changes of which nothing
// is left in the end are not told.
type Change struct {
	// VCenter is its name.
	VCenter string
	// VMs are those that came, or of which something changed, as they are now, and Left those that are no longer there, as
	// they were. With datacenters configured, VMs outside them are not told; one that moves out has left.
	VMs, Left []*VM
	// Everything says that VMs may answer differently that are not named: tags were read anew and differ, an object above
	// VMs moved, came, went or, in their path, was renamed, the index came into sync or lost it. Until it is in sync
	// nothing else is told.
	Everything bool
}

// change is what a delta means to a member, false when nothing.
func (m *member) change(d delta) (c Change, ok bool) {
	c = Change{VCenter: m.client.Name(), Everything: d.everything}
	for _, s := range d.steps {
		was := s.before != nil && m.inside(s.before)
		switch {
		case s.after != nil && m.inside(s.after):
			c.VMs = append(c.VMs, s.after)
		case was:
			c.Left = append(c.Left, s.before)
		}
	}
	return c, c.Everything || len(c.VMs) > 0 || len(c.Left) > 0
}
