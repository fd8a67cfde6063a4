package overview

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// judge finds what is wrong with a line. What columns say that are always there adds to the level only.
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

// judge finds what is wrong with the host or the vCenter itself.
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
