package theme

import "charm.land/lipgloss/v2"

// Theme is a set of styles. It is not changed once it is made, and may be used from any goroutine.
type Theme struct {
	// Name is dark, light or mono.
	Name string

	Text     lipgloss.Style // ordinary text
	Dim      lipgloss.Style // what matters less: units, times, hints
	Title    lipgloss.Style // the name of the sandbox, of an overlay
	Header   lipgloss.Style // headers of columns
	Group    lipgloss.Style // a region, a zone, a datacenter in a tree
	Good     lipgloss.Style // as it should be
	Warn     lipgloss.Style // on its way, or to be looked at
	Bad      lipgloss.Style // broken
	Changed  lipgloss.Style // changed a moment ago
	Conflict lipgloss.Style // the planes disagree
	Selected lipgloss.Style // the row with the cursor
	Key      lipgloss.Style // a key in a hint
	Link     lipgloss.Style // what leads somewhere: the number of an event
	Tab      lipgloss.Style // a screen
	TabOn    lipgloss.Style // the screen that is shown
	Border   lipgloss.Style // lines around panels
	Prompt   lipgloss.Style // what is being typed
	Match    lipgloss.Style // what a filter or a search found
	VSphere  lipgloss.Style // lane of vSphere
	Drivers  lipgloss.Style // lane of the CCM and the CSI driver
	Kube     lipgloss.Style // lane of Kubernetes
	Sandbox  lipgloss.Style // lane of the sandbox
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
	s := lipgloss.NewStyle
	return &Theme{
		Name: "mono",
		Text: s(), Dim: s().Faint(true), Title: s().Bold(true), Header: s().Underline(true), Group: s().Bold(true),
		Good: s(), Warn: s().Bold(true), Bad: s().Bold(true), Changed: s().Underline(true), Conflict: s().Bold(true).Underline(true),
		Selected: s().Reverse(true), Key: s().Bold(true), Link: s().Underline(true), Tab: s(), TabOn: s().Reverse(true),
		Border: s().Faint(true), Prompt: s().Bold(true), Match: s().Underline(true),
		VSphere: s(), Drivers: s(), Kube: s(), Sandbox: s(),
	}
}

type palette struct {
	text, dim, title, header, group, good, warn, bad, changedBG, selectedBG, key, link, border, match string
	vsphere, drivers, kube, sandbox                                                                   string
}

func colored(name string, p palette) *Theme {
	s := func(fg string) lipgloss.Style { return lipgloss.NewStyle().Foreground(lipgloss.Color(fg)) }
	return &Theme{
		Name: name,
		Text: s(p.text), Dim: s(p.dim), Title: s(p.title).Bold(true), Header: s(p.header), Group: s(p.group),
		Good: s(p.good), Warn: s(p.warn), Bad: s(p.bad).Bold(true),
		Changed:  s(p.text).Background(lipgloss.Color(p.changedBG)),
		Conflict: s(p.bad).Bold(true).Underline(true),
		Selected: s(p.text).Background(lipgloss.Color(p.selectedBG)).Bold(true),
		Key:      s(p.key), Link: s(p.link), Tab: s(p.dim), TabOn: s(p.title).Bold(true).Underline(true),
		Border: s(p.border), Prompt: s(p.title), Match: s(p.match).Underline(true),
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
