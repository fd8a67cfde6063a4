package tutorial

import "strings"

// matches says whether a line of output is what a line of a page says.
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

// squeeze makes every run of spaces one, and leaves out those at the end.
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

// gap says whether a line of a page stands for any number of lines.
func gap(line string) bool { return strings.TrimSpace(line) == anything }

// split makes lines of an output, without the empty ones at its end.
func split(output string) []string {
	output = strings.TrimRight(strings.ReplaceAll(output, "\r\n", "\n"), " \t\n")
	if output == "" {
		return nil
	}
	return strings.Split(output, "\n")
}

// compare looks for the way of reading want that gets furthest. With begins, output may go on after what is wanted. It
// returns -1, -1 when all is as wanted; else the first line of want that nothing fits, which may be one after the last,
// and the line of output that stands there, which may be one after the last, too.
func compare(want []Line, got []string, begins bool) (wanted, there int) {
	// reach[i] says from which lines of got on want[i:] may be looked for.
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
