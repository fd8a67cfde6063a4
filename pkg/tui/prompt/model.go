package prompt

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// Model is the prompt. Make it with [New], and keep it for its history; [Model.Command] and [Model.Filter] open it. It is for one
// goroutine.
type Model struct {
	theme    *theme.Theme
	source   source
	filters  bool // it is the line of a filter, not of commands
	edit     text.Edit
	commands history
	searched history
	cycle    *cycle
	err      string
	known    known
}

// known is the last completion: a frame needs it several times.
type known struct {
	line    string
	version uint64
	completion
}

// cycle is the position among candidates during tab completion.
type cycle struct {
	completion
	before string // the line up to the word
	at     int
}

// New returns a prompt without names.
func New() *Model { return &Model{theme: theme.Mono()} }

// SetTheme sets its theme.
func (m *Model) SetTheme(t *theme.Theme) { m.theme = t }

// SetState sets the source of names.
func (m *Model) SetState(s *fold.State) { m.source.state = s }

// SetKinds sets the catalogue of faults.
func (m *Model) SetKinds(kinds []api.FaultKind) { m.source.kinds = kinds }

// Command opens it for a command, with a beginning.
func (m *Model) Command(text string) { m.open(false, text) }

// Filter opens it for a filter, with the current one.
func (m *Model) Filter(text string) { m.open(true, text) }

func (m *Model) open(filters bool, text string) {
	m.filters, m.cycle, m.err = filters, nil, ""
	m.edit.Set(text)
	m.history().begin()
}

func (m *Model) history() *history {
	if m.filters {
		return &m.searched
	}
	return &m.commands
}

// Text returns the input.
func (m *Model) Text() string { return m.edit.String() }

// Handle handles any key. It returns an intent, if any, and whether the prompt must be closed. A filter applies while it is
// typed; esc removes it. An invalid command keeps the prompt open, with the error beside it.
func (m *Model) Handle(k tea.KeyPressMsg) (i intent.Intent, done bool) {
	m.err = ""
	was := m.Text()
	name, typed := k.Keystroke(), k.Text
	if k.Mod.Contains(tea.ModCtrl) || k.Mod.Contains(tea.ModAlt) {
		typed = ""
	}
	switch {
	case name == "tab", name == "shift+tab":
		m.tab(name == "tab")
		return nil, false
	case name == "esc", name == "ctrl+c", name == "ctrl+g", name == "backspace" && was == "":
		return m.leave(), true
	case name == "enter":
		return m.enter()
	case name == "up", name == "ctrl+p":
		m.recall(-1)
	case name == "down", name == "ctrl+n":
		m.recall(1)
	case m.edit.AtEnd() && m.ghost() != "" && (name == "right" || name == "end" || name == "ctrl+f" || name == "ctrl+e"):
		m.edit.Insert(m.ghost())
	case typed != "":
		m.edit.Insert(typed)
	default:
		m.edit.Key(name)
	}
	m.cycle = nil
	return m.changed(was), false
}

// Paste inserts the first line of pasted text, cleaned.
func (m *Model) Paste(pasted string) intent.Intent {
	was := m.Text()
	pasted, _, _ = strings.Cut(strings.TrimSpace(pasted), "\n")
	m.edit.Insert(text.Clean(pasted))
	m.cycle, m.err = nil, ""
	return m.changed(was)
}

// changed returns the filter, if it has changed.
func (m *Model) changed(was string) intent.Intent {
	if now := m.Text(); m.filters && now != was {
		return intent.Filter{Text: now}
	}
	return nil
}

func (m *Model) leave() intent.Intent {
	m.edit.Set("")
	m.cycle = nil
	if m.filters {
		return intent.Filter{}
	}
	return nil
}

func (m *Model) enter() (intent.Intent, bool) {
	line := m.Text()
	m.history().add(strings.TrimSpace(line))
	m.cycle = nil
	if m.filters {
		return intent.Filter{Text: line}, true
	}
	var i intent.Intent
	words, err := texts(line)
	if err == nil {
		words, err = m.source.own(words)
	}
	if err == nil {
		i, err = parse(words)
	}
	if err == nil && i != nil {
		i, err = m.source.check(i)
	}
	if err != nil {
		m.err = text.Clean(err.Error())
		return nil, false
	}
	return i, true
}

func (m *Model) recall(by int) {
	if line, ok := m.history().move(by, m.Text()); ok {
		m.edit.Set(line)
	}
}

// tab completes the word at the cursor: with the only candidate and a space, or with one candidate after the other.
func (m *Model) tab(forward bool) {
	if m.filters {
		return
	}
	if m.cycle == nil {
		before := string(m.edit.Runes[:m.edit.At])
		c := m.source.complete(before)
		n := len(c.candidates)
		if n == 0 {
			return
		}
		m.cycle = &cycle{completion: c, before: before[:c.start], at: -1}
		if !forward {
			m.cycle.at = n
		}
		if n == 1 {
			m.cycle.at = 0
			m.choose()
			if !strings.HasSuffix(c.candidates[0].word, "=") {
				m.edit.Insert(" ")
			}
			m.cycle = nil
			return
		}
	}
	c := m.cycle
	step := 1
	if !forward {
		step = -1
	}
	n := len(c.candidates)
	at := c.at
	c.at = (c.at + step + n) % n
	if (at < 0 || at == n) && c.candidates[c.at].word == c.typed { // which is on the line already
		c.at = (c.at + step + n) % n
	}
	m.choose()
}

// choose replaces the word by the candidate.
func (m *Model) choose() {
	after := string(m.edit.Runes[m.edit.At:])
	m.edit.Set(m.cycle.before + intent.Quote(m.cycle.candidates[m.cycle.at].word))
	at := m.edit.At
	m.edit.Insert(after)
	m.edit.At = at
}

// complete is [source.complete], cached.
func (m *Model) complete(line string) completion {
	version := uint64(len(m.source.kinds)) + 1
	if s := m.source.state; s != nil {
		version += s.Version(world.Kinds()...)
	}
	if m.known.line != line || m.known.version != version {
		m.known = known{line, version, m.source.complete(line)}
	}
	return m.known.completion
}

// ghost returns the rest of the first candidate for the word at the end.
func (m *Model) ghost() string {
	line := m.Text()
	if m.filters || m.cycle != nil || !m.edit.AtEnd() || strings.TrimSpace(line) == "" {
		return ""
	}
	c := m.complete(line)
	if len(c.candidates) == 0 {
		return ""
	}
	word := c.candidates[0].word
	if len(c.typed) > len(word) || !strings.EqualFold(word[:len(c.typed)], c.typed) || intent.Quote(word) != word || line[c.start:] != c.typed {
		return ""
	}
	if c.typed == "" {
		if _, err := Parse(line); err == nil {
			return "" // it may end here
		}
	}
	return word[len(c.typed):]
}

// remembered is the maximum number of lines in a history.
const remembered = 200

// history has the entered lines, oldest first.
type history struct {
	lines []string
	at    int    // the line that is shown; len(lines) is the one that is being typed
	draft string // which is that
}

// add appends a line, unless it equals the last one.
func (h *history) add(line string) {
	if n := len(h.lines); line != "" && (n == 0 || h.lines[n-1] != line) {
		h.lines = append(h.lines, line)
	}
	if n := len(h.lines); n > remembered {
		h.lines = append(h.lines[:0], h.lines[n-remembered:]...)
	}
	h.begin()
}

// begin goes to the end.
func (h *history) begin() { h.at, h.draft = len(h.lines), "" }

// move goes up (-1) or down (1) from the current line, and returns the line there; ok is false at either end.
func (h *history) move(by int, now string) (line string, ok bool) {
	to := h.at + by
	if to < 0 || to > len(h.lines) {
		return now, false
	}
	if h.at == len(h.lines) {
		h.draft = now
	}
	if h.at = to; to == len(h.lines) {
		return h.draft, true
	}
	return h.lines[to], true
}
