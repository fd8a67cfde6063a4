package theme

import (
	"image/color"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// Theme is a set of styles. It is immutable, and may be used from any goroutine.
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

// The glyphs with the meaning of colors.
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

// Style is the look of a text. The zero value is plain. It is small and comparable, and cheap to render: its escape sequence is
// made once. A frame has thousands of texts, which is why it is no lipgloss.Style: that one handles margins, borders and lines in
// each, and writes underlined text rune by rune.
type Style struct {
	attrs  attrs
	fg, bg color.Color // nil for that of the terminal
	on     string      // the escape sequence; "" for plain
}

type attrs uint8

const (
	bold attrs = 1 << iota
	underline
	reverse
	faint
)

// Render returns a one-line text in this style, followed by a reset.
func (s Style) Render(text string) string {
	if s.on == "" || text == "" {
		return text
	}
	return s.on + text + ansi.ResetStyle
}

// Inherit adds the attributes of a style that s does not have.
func (s Style) Inherit(from Style) Style {
	if s.attrs |= from.attrs; s.fg == nil {
		s.fg = from.fg
	}
	if s.bg == nil {
		s.bg = from.bg
	}
	return s.made()
}

// Bold adds bold.
func (s Style) Bold() Style { return s.with(bold) }

// Underline adds underline.
func (s Style) Underline() Style { return s.with(underline) }

// Reverse swaps the colors of text and background.
func (s Style) Reverse() Style { return s.with(reverse) }

// Faint adds faint.
func (s Style) Faint() Style { return s.with(faint) }

func (s Style) with(a attrs) Style {
	s.attrs |= a
	return s.made()
}

// foreground and background set the colors.
func (s Style) foreground(c color.Color) Style {
	s.fg = c
	return s.made()
}

func (s Style) background(c color.Color) Style {
	s.bg = c
	return s.made()
}

// made makes the escape sequence.
func (s Style) made() Style {
	var on ansi.Style
	if s.attrs&bold != 0 {
		on = on.Bold()
	}
	if s.attrs&underline != 0 {
		on = on.Underline(true)
	}
	if s.attrs&reverse != 0 {
		on = on.Reverse(true)
	}
	if s.attrs&faint != 0 {
		on = on.Faint()
	}
	if s.fg != nil {
		on = on.ForegroundColor(s.fg)
	}
	if s.bg != nil {
		on = on.BackgroundColor(s.bg)
	}
	if s.on = ""; len(on) > 0 {
		s.on = on.String()
	}
	return s
}
