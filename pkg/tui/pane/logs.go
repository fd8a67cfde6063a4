package pane

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/panel"
)

// Logs shows the log of a component: the newest [Most] lines. Make it with [NewLogs]. It follows the log until the user scrolls
// up, and again at its end.
type Logs struct {
	pane
	component string
	begun     bool
	follows   key.Binding
}

var (
	_ panel.Panel    = (*Logs)(nil)
	_ panel.Filterer = (*Logs)(nil)
	_ panel.Clicker  = (*Logs)(nil)
)

// NewLogs shows the log of a component.
func NewLogs(component string) *Logs {
	l := &Logs{pane: newPane("Logs " + component), component: component, follows: bind("t", "follow, or stay here", "t")}
	l.follow, l.grows = true, true
	l.viewer.set(loading())
	return l
}

// Component returns the component of the log.
func (l *Logs) Component() string { return l.component }

// Append adds lines. Without lines, the first call means that the log is empty so far.
func (l *Logs) Append(lines []string) {
	if !l.begun {
		l.begun = true
		l.viewer.set(nil)
	}
	if n := len(lines); n > Most {
		lines = lines[n-Most:]
	}
	added := make([]line, len(lines))
	for i, s := range lines {
		added[i] = logLine(s)
	}
	l.viewer.add(added)
}

// SetError records that the log cannot be read, or not any further: its lines stay.
func (l *Logs) SetError(err error) {
	if err == nil {
		return
	}
	if !l.begun {
		l.begun = true
		l.viewer.set(nil)
	}
	l.viewer.add(failure(err, max(20, l.width)))
}

// Bindings implements [panel.Panel].
func (l *Logs) Bindings() []key.Binding {
	return append(l.keys.live(&l.viewer), l.follows)
}

// Handle implements [panel.Panel].
func (l *Logs) Handle(k tea.KeyPressMsg) (intent.Intent, bool) {
	if key.Matches(k, l.follows) {
		l.follow = !l.follow
		l.clamp()
		return nil, true
	}
	return nil, l.keys.handle(&l.viewer, k)
}

// Click implements [panel.Clicker]: there is nothing to choose.
func (l *Logs) Click(int, int) (intent.Intent, bool) { return nil, true }

// View implements [panel.Panel].
func (l *Logs) View() string {
	where := "stays here"
	if l.follow {
		where = "follows"
	}
	if at := l.where(); at != "" {
		where = at + "  " + where
	}
	body := l.viewer.view()
	if l.begun && len(l.lines) == 0 {
		body = []string{l.theme.Dim.Render("nothing is written yet")}
	}
	return l.frame(where, body)
}

// logLine formats a line of a log: errors and warnings of klog and slog are highlighted.
func logLine(s string) line {
	as := plain
	switch {
	case klog(s, "EF"), strings.Contains(s, "level=ERROR"), strings.Contains(s, `"level":"error"`), strings.Contains(s, `"level":"ERROR"`):
		as = bad
	case klog(s, "W"), strings.Contains(s, "level=WARN"), strings.Contains(s, `"level":"warn"`), strings.Contains(s, `"level":"WARN"`):
		as = warn
	}
	return of(strings.ReplaceAll(s, "\t", "    "), as)
}

// klog reports whether a line is klog's, with one of the levels: W1122 13:15:43.123456.
func klog(s, levels string) bool {
	return len(s) > 5 && strings.IndexByte(levels, s[0]) >= 0 && s[5] == ' ' && strings.Trim(s[1:5], "0123456789") == ""
}
