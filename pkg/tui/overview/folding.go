package overview

// folded tells whether what is in a group is not shown.
func (s *Screen) folded(g *group) bool { return s.filter == "" && s.closed[g.key] }

// toggle folds or opens the group with the cursor, or around it.
func (s *Screen) toggle() {
	it, ok := s.current()
	if !ok {
		return
	}
	g := it.group
	if g == nil {
		g = it.line.in
	}
	s.closed[g.key] = !s.closed[g.key]
	s.list()
}

// unfold opens the group with the cursor; of one that is open, the cursor goes to what is first in it.
func (s *Screen) unfold() {
	it, ok := s.current()
	switch {
	case !ok || it.group == nil:
	case s.closed[it.group.key]:
		delete(s.closed, it.group.key)
		s.list()
	case len(it.group.groups)+len(it.group.lines) > 0:
		s.table.Move(1)
	}
}

// leave folds the group with the cursor; from what cannot be folded the cursor goes to the group around it.
func (s *Screen) leave() {
	it, ok := s.current()
	if !ok {
		return
	}
	if g := it.group; g != nil && !s.closed[g.key] && len(g.groups)+len(g.lines) > 0 {
		s.closed[g.key] = true
		s.list()
		return
	}
	if up := it.above(); up != nil {
		s.table.Choose(up.key)
	}
}

// foldAll folds or opens all groups.
func (s *Screen) foldAll(fold bool) {
	clear(s.closed)
	if fold {
		s.every(func(it item) {
			if it.group != nil {
				s.closed[it.group.key] = true
			}
		})
	}
	s.list()
}

// every calls f for all groups and lines in the order in which they would be shown.
func (s *Screen) every(f func(item)) {
	var walk func(g *group)
	walk = func(g *group) {
		f(item{group: g})
		for _, sub := range g.groups {
			walk(sub)
		}
		for _, l := range g.lines {
			f(item{line: l})
		}
	}
	for _, g := range s.tree.roots {
		walk(g)
	}
}

// reveal opens the groups around something, and puts the cursor on it.
func (s *Screen) reveal(it item) bool {
	closed := false
	for g := it.above(); g != nil; g = g.parent {
		closed = closed || s.closed[g.key]
		delete(s.closed, g.key)
	}
	if closed {
		s.list()
	}
	return s.table.Choose(it.key())
}

// seek puts the cursor on the next of what the planes disagree on or that is in trouble, folded or not, and after the
// last goes on with the first.
func (s *Screen) seek(step int) {
	var stops []item
	here, _ := s.current()
	at := 0 // stops that are before the cursor
	on, passed := false, false
	visit := func(it item) {
		if it == here {
			passed, on = true, it.stop()
		}
		if !it.stop() {
			return
		}
		if !passed {
			at++
		}
		stops = append(stops, it)
	}
	if s.filter == "" {
		s.every(visit)
	} else {
		for _, it := range s.shown {
			visit(it)
		}
	}
	if len(stops) == 0 {
		return
	}
	if step < 0 {
		at--
	} else if on {
		at++
	}
	s.reveal(stops[(at+len(stops))%len(stops)])
}
