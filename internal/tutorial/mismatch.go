package tutorial

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Mismatch is the error of a command that differs from its page.
type Mismatch struct {
	File     string
	Line     int    // the first line of the page that does not hold
	Command  string // as it is written
	Want     string // that line; empty if nothing more was expected
	Got      string // the line of output in its place; may be empty
	Output   string // all of it, as it was at the last try
	Exit     int
	WantExit int
	Waited   time.Duration // for how long it was tried; 0 if once
}

// Where returns the place in the page, with the command.
func (m *Mismatch) Where() string {
	first, _, _ := strings.Cut(m.Command, "\n")
	return fmt.Sprintf("%s:%d: $ %s", m.File, m.Line, first)
}

// Error begins with file:line, and has the details.
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

// judge compares the result of a command with its page; nil means equal.
func judge(p *Page, c *Command, r Result, wantExit int, running bool) *Mismatch {
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

// matches reports whether a line of output matches a line of a page.
func matches(want, got string) bool {
	pieces := strings.Split(squeeze(want), anything)
	got = squeeze(got)
	if len(pieces) == 1 {
		return pieces[0] == got
	}
	first, last := pieces[0], pieces[len(pieces)-1]
	if !strings.HasPrefix(got, first) {
		return false
	}
	got = got[len(first):]
	for _, piece := range pieces[1 : len(pieces)-1] {
		_, after, found := strings.Cut(got, piece)
		if !found {
			return false
		}
		got = after
	}
	return strings.HasSuffix(got, last)
}

// squeeze collapses spaces, and trims those at the end.
func squeeze(line string) string {
	var b strings.Builder
	space := false
	for _, r := range strings.TrimRight(line, " \t") {
		if r == ' ' || r == '\t' {
			space = true
			continue
		}
		if space {
			b.WriteByte(' ')
		}
		space = false
		b.WriteRune(r)
	}
	return b.String()
}

// gap reports whether a line of a page stands for any number of lines.
func gap(line string) bool { return strings.TrimSpace(line) == anything }

// split splits an output into lines, without empty ones at its end.
func split(output string) []string {
	output = strings.TrimRight(strings.ReplaceAll(output, "\r\n", "\n"), " \t\n")
	if output == "" {
		return nil
	}
	return strings.Split(output, "\n")
}

// compare matches the output with want as far as possible. With begins, output may continue after want. It returns -1, -1 for a
// match, and otherwise the first line of want without a match and the line of output in its place; either may be one after the
// last.
func compare(want []Line, got []string, begins bool) (wanted, there int) {
	// reach[i] has the lines of got where want[i:] may begin.
	reach := make([][]bool, len(want)+1)
	for i := range reach {
		reach[i] = make([]bool, len(got)+1)
	}
	reach[0][0] = true
	for i := range want {
		for j := range len(got) + 1 {
			switch {
			case !reach[i][j]:
			case gap(want[i].Text):
				for k := j; k <= len(got); k++ {
					reach[i+1][k] = true
				}
			case j < len(got) && matches(want[i].Text, got[j]):
				reach[i+1][j+1] = true
			}
		}
	}
	end := reach[len(want)]
	if end[len(got)] {
		return -1, -1
	}
	for i := len(want); i >= 0; i-- {
		for j := range len(got) + 1 {
			if !reach[i][j] {
				continue
			}
			if i == len(want) && begins {
				return -1, -1
			}
			return i, j
		}
	}
	return 0, 0 // not reached: reach[0][0] is true
}

// Rewrite returns the text of a page with new outputs, by the lines of their commands. Commands that are not in ran keep theirs.
//
// A matching expectation stays unchanged. In another one, matching lines stay, with their patterns; a changed line keeps the
// words that match; in new lines, times, ports and random names become …. A … that stands for lines only takes lines next to it.
func Rewrite(p *Page, ran map[int]Result) string {
	lines := slices.Clone(p.lines)
	for _, s := range slices.Backward(p.Steps) {
		for _, b := range slices.Backward(s.Blocks) {
			for _, c := range slices.Backward(b.Commands) {
				r, ok := ran[c.Line]
				if !ok {
					continue
				}
				got := split(r.Output)
				if i, _ := compare(c.Want, got, b.Background); i < 0 {
					continue
				}
				from := c.Line + strings.Count(c.Text, "\n") // the line after the command, counted from 0
				to := from
				if n := len(c.Want); n > 0 {
					to = c.Want[n-1].Number
				}
				lines = slices.Replace(lines, from, to, merge(c.Want, got)...)
			}
		}
	}
	return strings.Join(lines, "\n")
}

// merge makes an expectation of an output, and keeps what it can of an old one. It finds the cheapest edit; a gap takes lines at
// no cost.
func merge(want []Line, got []string) []string {
	const change, add, drop = 2, 3, 3
	type step struct {
		cost int
		move byte // k keep, g into a gap, e end of a gap, c change, a add, d drop
	}
	best := make([][]step, len(want)+1)
	for i := range best {
		best[i] = make([]step, len(got)+1)
	}
	for i := len(want); i >= 0; i-- {
		for j := len(got); j >= 0; j-- {
			if i == len(want) && j == len(got) {
				continue
			}
			found := step{cost: 1 << 30}
			try := func(cost int, move byte) {
				if cost < found.cost {
					found = step{cost, move}
				}
			}
			isGap := i < len(want) && gap(want[i].Text)
			if i < len(want) && j < len(got) && !isGap {
				if matches(want[i].Text, got[j]) {
					try(best[i+1][j+1].cost, 'k')
				} else {
					try(best[i+1][j+1].cost+change, 'c')
				}
			}
			if isGap {
				try(best[i+1][j].cost, 'e')
				if j < len(got) {
					try(best[i][j+1].cost, 'g')
				}
			} else if i < len(want) {
				try(best[i+1][j].cost+drop, 'd')
			}
			if j < len(got) && !isGap {
				try(best[i][j+1].cost+add, 'a')
			}
			best[i][j] = found
		}
	}
	var out []string
	for i, j := 0, 0; i < len(want) || j < len(got); {
		switch best[i][j].move {
		case 'k':
			out = append(out, want[i].Text)
			i, j = i+1, j+1
		case 'c':
			out = append(out, reword(want[i].Text, got[j]))
			i, j = i+1, j+1
		case 'a':
			out = append(out, volatile(got[j]))
			j++
		case 'g':
			j++
		case 'e':
			out = append(out, want[i].Text)
			i++
		default:
			i++
		}
	}
	return out
}

var word = regexp.MustCompile(`\S+`)

// reword makes an expectation of a line, with the matching words of an old one that has patterns.
func reword(old, got string) string {
	olds := word.FindAllString(old, -1)
	if len(olds) != len(word.FindAllString(got, -1)) {
		return volatile(got)
	}
	i := -1
	return word.ReplaceAllStringFunc(strings.TrimRight(got, " \t"), func(w string) string {
		i++
		if strings.Contains(olds[i], anything) && matches(olds[i], w) {
			return olds[i]
		}
		return volatile(w)
	})
}

// changing are the patterns of what differs between runs, each with its replacement.
func changing() []struct {
	found *regexp.Regexp
	as    string
} {
	return []struct {
		found *regexp.Regexp
		as    string
	}{
		{regexp.MustCompile(`\b\d\d:\d\d:\d\d(\.\d+)?\b`), anything},
		{regexp.MustCompile(`\b\d+:\d\d/\d+:\d\d\b`), anything},
		{regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+(\.\d+)?(ns|µs|ms|s)\b`), anything},
		{regexp.MustCompile(`\b\d+[hm]\d*[ms]?\b`), anything},
		{regexp.MustCompile(`\b127\.\d+\.\d+\.\d+(:\d+)?\b`), anything},
		{regexp.MustCompile(`\bpvc-[0-9a-f]{8}[0-9a-f…-]*`), "pvc-" + anything},
		{regexp.MustCompile(`\burn:vmomi:(\w+):[0-9a-f-]{36}:GLOBAL`), "urn:vmomi:$1:" + anything + ":GLOBAL"},
		{regexp.MustCompile(`\bpid \d+\b`), "pid " + anything},
		{regexp.MustCompile(`#\d+\b`), "#" + anything},
	}
}

// volatile makes an expectation of a line. Columns keep their positions.
func volatile(line string) string {
	for _, c := range changing() {
		var b strings.Builder
		rest := line
		for {
			at := c.found.FindStringSubmatchIndex(rest)
			if at == nil {
				break
			}
			as := string(c.found.ExpandString(nil, c.as, rest, at))
			b.WriteString(rest[:at[0]] + as)
			lost := utf8.RuneCountInString(rest[at[0]:at[1]]) - utf8.RuneCountInString(as)
			rest = rest[at[1]:]
			if lost > 0 && strings.HasPrefix(rest, "  ") {
				b.WriteString(strings.Repeat(" ", lost))
			}
		}
		line = b.String() + rest
	}
	return strings.TrimRight(line, " \t")
}
