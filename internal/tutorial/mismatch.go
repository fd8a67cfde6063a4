package tutorial

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Mismatch is a command that did not do what its page says.
type Mismatch struct {
	File     string
	Line     int    // the first line of the page that does not hold
	Command  string // as it is written
	Want     string // that line; empty if nothing more was expected
	Got      string // the line of output that stands there; empty if there is none
	Output   string // all of it, as it was at the last try
	Exit     int
	WantExit int
	Waited   time.Duration // for how long it was tried; 0 if once
}

// Where is the place in the page, with the command.
func (m *Mismatch) Where() string {
	first, _, _ := strings.Cut(m.Command, "\n")
	return fmt.Sprintf("%s:%d: $ %s", m.File, m.Line, first)
}

// Error begins with file:line, and has all that is needed to see what is wrong.
func (m *Mismatch) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d: $ %s: ", m.File, m.Line, strings.ReplaceAll(m.Command, "\n", "\n> "))
	switch {
	case m.Exit != m.WantExit:
		fmt.Fprintf(&b, "exit status %d, want %d", m.Exit, m.WantExit)
	default:
		b.WriteString("prints something else")
	}
	if m.Waited > 0 {
		fmt.Fprintf(&b, " (tried for %s)", m.Waited)
	}
	if m.Exit == m.WantExit {
		fmt.Fprintf(&b, "\n- %s\n+ %s", cmp.Or(m.Want, "(the end)"), cmp.Or(m.Got, "(the end)"))
	}
	b.WriteString("\noutput:")
	for _, line := range split(m.Output) {
		b.WriteString("\n  " + line)
	}
	return b.String()
}

// judge compares what a command did with what its page says; nil is as it should be.
func judge(p *Page, c *Command, r Ran, wantExit int, running bool) *Mismatch {
	m := &Mismatch{File: p.File, Line: c.Line, Command: cmp.Or(c.Text, "^C"), Output: r.Output, Exit: r.Exit, WantExit: wantExit}
	got := split(r.Output)
	i, j := compare(c.Want, got, running)
	if i < 0 && (running || r.Exit == wantExit) {
		return nil
	}
	if running {
		m.WantExit = r.Exit
	}
	if i >= 0 {
		if i < len(c.Want) {
			m.Line, m.Want = c.Want[i].Number, c.Want[i].Text
		} else if i > 0 {
			m.Line = c.Want[i-1].Number
		}
		if j < len(got) {
			m.Got = got[j]
		}
	}
	return m
}
