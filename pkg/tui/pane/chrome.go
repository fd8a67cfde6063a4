package pane

import (
	"errors"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// pane is the common part of panes: a title, and a viewer below it.
type pane struct {
	viewer
	keys          keys
	title         string
	width, height int
}

func newPane(title string) pane {
	return pane{viewer: newViewer(), keys: newKeys(), title: text.Clean(title)}
}

// SetTheme implements panel.Panel.
func (p *pane) SetTheme(t *theme.Theme) { p.theme = t }

// SetState implements panel.Panel: the content of a pane does not depend on it.
func (p *pane) SetState(*fold.State) {}

// SetSize implements panel.Panel.
func (p *pane) SetSize(width, height int) {
	p.width, p.height = width, height
	p.viewer.size(width, height-1)
}

// SetFilter implements panel.Filterer: it marks the matches, and goes to one.
func (p *pane) SetFilter(filter string) { p.viewer.find(filter) }

// Wheel implements panel.Clicker.
func (p *pane) Wheel(lines int) { p.viewer.move(lines) }

// head returns the first line: the title, and the visible part.
func (p *pane) head(where string) string {
	where = text.Cut(where, p.width*2/3)
	left := text.Cut(p.title, max(0, p.width-text.Width(where)-1))
	room := max(0, p.width-text.Width(left)-text.Width(where))
	return p.theme.Title.Render(left) + strings.Repeat(" ", room) + p.theme.Dim.Render(where)
}

// View implements panel.Panel.
func (p *pane) View() string {
	return p.frame(p.viewer.where(), p.viewer.view())
}

func (p *pane) frame(where string, body []string) string {
	if p.width <= 0 || p.height <= 0 {
		return ""
	}
	return text.Block(append([]string{p.head(where)}, body...), p.width, p.height)
}

// loading is shown before there is content.
func loading() []line { return []line{of("loading…", dim)} }

// failure returns an error, with what to try.
func failure(err error, width int) []line {
	l := of(theme.GlyphBad+" ", bad)
	l.add(err.Error(), bad)
	all := l.wrapped(width, 2)
	var refused *api.Error
	if errors.As(err, &refused) && refused.Try != "" {
		all = append(all, line{})
		all = append(all, try(refused.Try, 0, width)...)
	}
	return all
}

// try returns what to try.
func try(what string, indent, width int) []line {
	var all []line
	for i, s := range strings.Split(what, "\n") {
		var l line
		l.pad(indent)
		if i == 0 {
			l.add("try: ", press)
		}
		l.pad(indent + 5)
		l.add(s, plain)
		all = append(all, l.wrapped(width, indent+5)...)
	}
	return all
}

// called describes a subject: "node worker-1", "vm us/worker-1".
func called(s api.Subject) string {
	name := s.Name
	if s.VCenter != "" {
		name = s.VCenter + "/" + name
	}
	return s.Kind + " " + name
}

// keys are the scroll keys of every pane.
type keys struct{ up, down, pageUp, pageDown, halfUp, halfDown, top, end, left, right, next, last, wrap key.Binding }

func bind(help, what string, names ...string) key.Binding {
	return key.NewBinding(key.WithKeys(names...), key.WithHelp(help, what))
}

func newKeys() keys {
	return keys{
		up: bind("↑/k", "up", "up", "k"), down: bind("↓/j", "down", "down", "j"),
		pageUp: bind("pgup", "a page up", "pgup", "ctrl+b", "b"), pageDown: bind("pgdn/space", "a page down", "pgdown", "ctrl+f", "space"),
		halfUp: bind("ctrl+u", "half a page up", "ctrl+u"), halfDown: bind("ctrl+d", "half a page down", "ctrl+d"),
		top: bind("g", "to the beginning", "g", "home"), end: bind("G", "to the end", "G", "end"),
		left: bind("←/h", "left", "left", "h"), right: bind("→", "right", "right"),
		next: bind("n", "next match", "n"), last: bind("N", "match before", "N"), wrap: bind("z", "wrap long lines, or not", "z"),
	}
}

// live returns the bindings that have an effect on a viewer now.
func (k keys) live(v *viewer) []key.Binding {
	on := func(b key.Binding, enabled bool) key.Binding {
		b.SetEnabled(enabled)
		return b
	}
	scrolls := !v.fits() || v.cursor >= 0 && len(v.lines) > 1
	aside := !v.wrap && v.widest > v.width
	found := len(v.search.lines) > 0
	return []key.Binding{
		on(k.up, scrolls), on(k.down, scrolls), on(k.pageUp, scrolls), on(k.pageDown, scrolls), on(k.halfUp, scrolls), on(k.halfDown, scrolls),
		on(k.top, scrolls), on(k.end, scrolls), on(k.left, aside), on(k.right, aside), on(k.wrap, aside || v.wrap), on(k.next, found), on(k.last, found),
	}
}

// handle scrolls, and reports whether the key was one for that.
func (k keys) handle(v *viewer, msg tea.KeyPressMsg) bool {
	page := max(1, v.height)
	const far = 1 << 30
	switch {
	case key.Matches(msg, k.up):
		v.move(-1)
	case key.Matches(msg, k.down):
		v.move(1)
	case key.Matches(msg, k.pageUp):
		v.move(-max(1, page-1))
	case key.Matches(msg, k.pageDown):
		v.move(max(1, page-1))
	case key.Matches(msg, k.halfUp):
		v.move(-max(1, page/2))
	case key.Matches(msg, k.halfDown):
		v.move(max(1, page/2))
	case key.Matches(msg, k.top):
		v.move(-far)
	case key.Matches(msg, k.end):
		v.move(far)
	case key.Matches(msg, k.left):
		v.sideways(-8)
	case key.Matches(msg, k.right):
		v.sideways(8)
	case key.Matches(msg, k.wrap):
		v.toggle()
	case key.Matches(msg, k.next):
		k.goTo(v, 1)
	case key.Matches(msg, k.last):
		k.goTo(v, -1)
	default:
		return false
	}
	return true
}

func (k keys) goTo(v *viewer, by int) {
	if to, ok := v.search.next(by); ok {
		v.jump(to)
	}
}

// look is the style of a piece of text, independent of the theme.
type look uint8

const (
	plain look = iota
	dim
	title
	field
	good
	warn
	bad
	link
	press
	vsphere
	kube
	sandbox
)

func (l look) style(t *theme.Theme) theme.Style {
	switch l {
	case dim:
		return t.Dim
	case title:
		return t.Title
	case field:
		return t.Header
	case good:
		return t.Good
	case warn:
		return t.Warn
	case bad:
		return t.Bad
	case link:
		return t.Link
	case press:
		return t.Key
	case vsphere:
		return t.VSphere
	case kube:
		return t.Kube
	case sandbox:
		return t.Sandbox
	}
	return t.Text
}

// search is a search for lines with all words, in any case.
type search struct {
	words []string
	lines []int // those in which they are
	at    int   // which of them is looked at; -1 none yet
	from  int   // the line at which the search began
}

// matches reports whether a text has all words.
func (s *search) matches(t string) bool {
	t = strings.ToLower(t)
	return len(s.words) > 0 && !slices.ContainsFunc(s.words, func(w string) bool { return !strings.Contains(t, w) })
}

// pieces returns the positions of the words in a text, in order, without overlap.
func (s *search) pieces(t string) (found [][2]int) {
	lower := strings.ToLower(t)
	if len(lower) != len(t) { // a letter whose other case is longer: the places differ
		return nil
	}
	for _, w := range s.words {
		for at := 0; ; {
			i := strings.Index(lower[at:], w)
			if i < 0 {
				break
			}
			found = append(found, [2]int{at + i, at + i + len(w)})
			at += i + len(w)
		}
	}
	slices.SortFunc(found, func(a, b [2]int) int { return a[0] - b[0] })
	last := 0
	return slices.DeleteFunc(found, func(f [2]int) bool {
		over := f[0] < last
		if !over {
			last = f[1]
		}
		return over
	})
}

// set searches for words from a line on, and returns the line to go to; ok is false if there is no match.
func (s *search) set(filter string, lines []line, top int) (to int, ok bool) {
	if len(s.words) == 0 {
		s.from = top
	}
	s.words = strings.Fields(strings.ToLower(filter))
	s.lines, s.at = nil, -1
	s.more(lines, 0)
	if len(s.lines) == 0 {
		return s.from, false
	}
	s.at, _ = slices.BinarySearch(s.lines, s.from)
	s.at %= len(s.lines)
	return s.lines[s.at], true
}

// more searches new lines.
func (s *search) more(lines []line, from int) {
	if len(s.words) == 0 {
		return
	}
	for i := from; i < len(lines); i++ {
		if s.matches(lines[i].text) {
			s.lines = append(s.lines, i)
		}
	}
}

// drop drops the first n lines.
func (s *search) drop(n int) {
	kept := s.lines[:0]
	gone := 0
	for _, i := range s.lines {
		if i < n {
			gone++
			continue
		}
		kept = append(kept, i-n)
	}
	s.lines, s.at, s.from = kept, max(-1, s.at-gone), max(0, s.from-n)
}

// next goes to the next (1) or the previous (-1) match, around the ends.
func (s *search) next(by int) (to int, ok bool) {
	n := len(s.lines)
	if n == 0 {
		return 0, false
	}
	if s.at < 0 && by < 0 {
		s.at = 0
	}
	s.at = (s.at + by + n) % n
	return s.lines[s.at], true
}
