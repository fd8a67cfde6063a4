package theme

import "charm.land/lipgloss/v2"

// Theme is a set of styles. It is not changed once it is made, and may be used from any goroutine.
type Theme struct {
	// Name is dark, light or mono.
	Name string

	Text     Style // ordinary text
	Dim      Style // what matters less: units, times, hints
	Title    Style // the name of the sandbox, of an overlay
	Header   Style // headers of columns
	Group    Style // a region, a zone, a datacenter in a tree
	Good     Style // as it should be
	Warn     Style // on its way, or to be looked at
	Bad      Style // broken
	Changed  Style // changed a moment ago
	Conflict Style // the planes disagree
	Selected Style // the row with the cursor
	Key      Style // a key in a hint
	Link     Style // what leads somewhere: the number of an event
	Tab      Style // a screen
	TabOn    Style // the screen that is shown
	Border   Style // lines around panels
	Prompt   Style // what is being typed
	Match    Style // what a filter or a search found
	VSphere  Style // lane of vSphere
	Drivers  Style // lane of the CCM and the CSI driver
	Kube     Style // lane of Kubernetes
	Sandbox  Style // lane of the sandbox
}

// Dark is for dark terminals.
func Dark() *Theme {
	return colored("dark", palette{
		text: "252", dim: "244", title: "117", header: "110", group: "183", good: "114", warn: "221", bad: "210",
		changedBG: "58", selectedBG: "238", key: "117", link: "75", border: "240", match: "221",
		vsphere: "114", drivers: "221", kube: "75", sandbox: "183",
	})
}

// Light is for light terminals.
func Light() *Theme {
	return colored("light", palette{
		text: "236", dim: "243", title: "25", header: "24", group: "90", good: "28", warn: "130", bad: "160",
		changedBG: "229", selectedBG: "253", key: "25", link: "26", border: "248", match: "130",
		vsphere: "28", drivers: "130", kube: "26", sandbox: "90",
	})
}

// Mono has no colors, only bold, faint, underlined and reversed text: for NO_COLOR and for paper.
func Mono() *Theme {
	var s Style
	return &Theme{
		Name: "mono",
		Text: s, Dim: s.Faint(), Title: s.Bold(), Header: s.Underline(), Group: s.Bold(),
		Good: s, Warn: s.Bold(), Bad: s.Bold(), Changed: s.Underline(), Conflict: s.Bold().Underline(),
		Selected: s.Reverse(), Key: s.Bold(), Link: s.Underline(), Tab: s, TabOn: s.Reverse(),
		Border: s.Faint(), Prompt: s.Bold(), Match: s.Underline(),
		VSphere: s, Drivers: s, Kube: s, Sandbox: s,
	}
}

type palette struct {
	text, dim, title, header, group, good, warn, bad, changedBG, selectedBG, key, link, border, match string
	vsphere, drivers, kube, sandbox                                                                   string
}

func colored(name string, p palette) *Theme {
	s := func(fg string) Style { return Style{}.foreground(lipgloss.Color(fg)) }
	return &Theme{
		Name: name,
		Text: s(p.text), Dim: s(p.dim), Title: s(p.title).Bold(), Header: s(p.header), Group: s(p.group),
		Good: s(p.good), Warn: s(p.warn), Bad: s(p.bad).Bold(),
		Changed:  s(p.text).background(lipgloss.Color(p.changedBG)),
		Conflict: s(p.bad).Bold().Underline(),
		Selected: s(p.text).background(lipgloss.Color(p.selectedBG)).Bold(),
		Key:      s(p.key), Link: s(p.link), Tab: s(p.dim), TabOn: s(p.title).Bold().Underline(),
		Border: s(p.border), Prompt: s(p.title), Match: s(p.match).Underline(),
		VSphere: s(p.vsphere), Drivers: s(p.drivers), Kube: s(p.kube), Sandbox: s(p.sandbox),
	}
}

// The glyphs that say in one cell what a color says.
const (
	GlyphGood     = "●"
	GlyphWarn     = "◐"
	GlyphBad      = "✗"
	GlyphOff      = "○"
	GlyphUnknown  = "?"
	GlyphChanged  = "▎"
	GlyphConflict = "≠"
	GlyphCause    = "↳"
	GlyphOpen     = "▾"
	GlyphClosed   = "▸"
)
