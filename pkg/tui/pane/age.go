package pane

import (
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// age is when something was read, and why it could not be read again since, if so.
type age struct {
	now, read time.Time
	failed    error
}

// pass takes in the time.
func (a *age) pass(s *fold.State) { a.now = s.Now() }

// told takes in that it was read now, or was not. It tells whether what was read before is kept: a thing that is deleted
// can still be read about.
func (a *age) told(err error) (kept bool) {
	if a.failed = err; err != nil && !a.read.IsZero() {
		return true
	}
	if a.failed = nil; err == nil {
		a.read = a.now
	}
	return false
}

// String is beside the title: "as of 15:04:05".
func (a *age) String() string {
	if a.read.IsZero() {
		return ""
	}
	return "as of " + a.read.Format("15:04:05")
}

// lines say why it is older than it could be.
func (a *age) lines(t *theme.Theme, width int) []string {
	if a.failed == nil {
		return nil
	}
	l := of(theme.GlyphBad+" this is "+text.Ago(a.now.Sub(a.read))+" old: ", bad)
	l.add(a.failed.Error(), bad)
	var lines []string
	for _, l := range l.wrapped(max(20, width), 2) {
		lines = append(lines, l.render(t, 0, len(l.text), nil, t.Bad, nil))
	}
	return lines
}

// aside joins what stands beside a title.
func aside(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "  ")
}
