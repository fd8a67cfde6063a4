package tutorial

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Rewrite returns the text of a page with outputs as they are now, by the lines of their commands. Commands that are not
// in ran keep theirs.
//
// An expectation that holds stays as it is, to the letter. In one that does not, lines that still fit stay, with their
// patterns; a line that has changed keeps the words that still fit; what is new has its times, ports and random names
// replaced by …, and is not taken into a … that stands for lines unless it is next to it.
func Rewrite(p *Page, ran map[int]Ran) string {
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

// merge makes an expectation of an output, and keeps what it can of an old one: the cheapest way to turn the one into the
// other, where a gap swallows lines for nothing.
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

// reword makes an expectation of a line, with the words of an old one that have patterns and still fit.
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

// changing is what differs from run to run, each with what stands for it.
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

// volatile makes an expectation of a line. Columns stay where they are.
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
