package overview

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// Subject returns the subject of the row with the cursor: the node, or else the VM; the host; for a datacenter its vCenter.
// Regions and zones have none.
func (s *Screen) Subject() (api.Subject, bool) {
	it, ok := s.current()
	if !ok {
		return api.Subject{}, false
	}
	return it.subject()
}

func (i item) subject() (api.Subject, bool) {
	switch l, g := i.line, i.group; {
	case l != nil && l.node != nil && (l.vm == nil || l.node.Registered && !l.gone):
		return api.Subject{Kind: "node", Name: l.node.Name}, true
	case l != nil:
		return api.Subject{Kind: "vm", VCenter: l.vm.VCenter, Name: l.vm.Name}, true
	case g.depth == host && g.host != nil:
		return api.Subject{Kind: "host", VCenter: g.host.VCenter, Name: g.host.Name}, true
	case g.depth == datacenter && g.place.vcenter != "":
		return api.Subject{Kind: "vcenter", Name: g.place.vcenter}, true
	}
	return api.Subject{}, false
}

// is reports whether a subject refers to the item.
func (i item) is(subject api.Subject) bool {
	same := func(vcenter string) bool { return subject.VCenter == "" || subject.VCenter == vcenter }
	switch l, g := i.line, i.group; subject.Kind {
	case "node":
		return l != nil && l.node != nil && l.node.Name == subject.Name
	case "vm":
		return l != nil && l.vm != nil && l.vm.Name == subject.Name && same(l.vm.VCenter)
	case "host":
		return g != nil && g.depth == host && g.onHost == subject.Name && same(g.place.vcenter)
	case "vcenter":
		return g != nil && g.depth == datacenter && g.place.vcenter == subject.Name
	}
	return false
}

// Choose moves the cursor to a node, a VM, a host or the first datacenter of a vCenter, and opens the groups around it.
func (s *Screen) Choose(subject api.Subject) bool {
	var found *item
	look := func(it item) {
		if found == nil && it.is(subject) {
			found = &it
		}
	}
	if s.filter != "" {
		for _, it := range s.shown {
			look(it)
		}
	} else {
		s.every(look)
	}
	return found != nil && s.reveal(*found)
}

// Click moves the cursor to a row; on the arrow of a group it folds or opens the group.
func (s *Screen) Click(x, y int) (intent.Intent, bool) {
	if y < 1 || y >= s.height-s.strip() || !s.table.Click(y-1) {
		return nil, false
	}
	if it, ok := s.current(); ok && it.group != nil && s.filter == "" && x <= it.group.indent+2 {
		s.toggle()
	}
	return nil, true
}

// Wheel moves the cursor.
func (s *Screen) Wheel(lines int) { s.table.Move(lines) }

// judge finds the problems of a line. Those with a column only raise the level.
func (l *line) judge() {
	if l.vm != nil {
		l.judgeVM(*l.vm)
	}
	if len(l.findings) > 0 {
		l.level = max(l.level, glance.Warn)
	}
	switch {
	case l.gone:
		l.say(glance.Mark{Glyph: theme.GlyphBad, Word: "node deleted", Level: glance.Warn})
	case l.node == nil:
	case !l.node.Registered:
		l.level = max(l.level, glance.Warn)
	default:
		_, taints := glance.Taints(l.node.Taints, false)
		l.level = max(l.level, glance.Node(*l.node).Level, min(taints, glance.Warn))
		if l.vm == nil && len(l.findings) == 0 {
			l.say(glance.Mark{Glyph: theme.GlyphBad, Word: "no VM has its UUID", Level: glance.Warn})
		}
	}
}

func (l *line) judgeVM(v api.VM) {
	l.level = max(l.level, glance.Power(v).Level)
	if c := glance.Connection(v.Connection); c.Level > glance.Good {
		l.say(glance.Mark{Glyph: c.Glyph, Word: "VM " + c.Word, Level: c.Level})
	}
	if v.Role == "" {
		return
	}
	if p := glance.Process(v); p.Level > glance.Good {
		l.say(glance.Mark{Glyph: p.Glyph, Word: "guest " + p.Word, Level: p.Level})
	}
	if t := glance.Tools(v); t.Level > glance.Good {
		l.say(t)
	}
}

func (l *line) say(m glance.Mark) {
	l.trouble = append(l.trouble, m)
	l.level = max(l.level, m.Level)
}

// judge finds the problem of the host or the vCenter itself.
func (g *group) judge() {
	switch {
	case g.host != nil:
		if g.trouble = glance.Connection(g.host.Connection); g.trouble.Level <= glance.Good && g.host.Power != "on" {
			g.trouble = glance.Mark{Glyph: theme.GlyphBad, Word: "host " + g.host.Power, Level: glance.Bad}
		} else {
			g.trouble.Word = "host " + g.trouble.Word
		}
	case g.vcenter != nil:
		g.trouble = glance.Gate(*g.vcenter)
		g.trouble.Word = "vCenter " + g.trouble.Word
		if g.trouble.Level <= glance.Good && !g.vcenter.Watched {
			g.trouble = glance.Mark{Glyph: theme.GlyphUnknown, Word: "not watched: may be old", Level: glance.Warn}
		}
	}
	if g.trouble.Level <= glance.Good {
		g.trouble = glance.Mark{}
	}
}
