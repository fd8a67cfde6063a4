// Package nearest guesses what a person meant to type.
//
// Floor 0: it imports nothing of this module.
package nearest

import "strings"

// Of returns the candidate that name most probably stands for: one that differs by no more than about one slip in three
// letters, or the only one that it begins. Case counts for nothing; of equals the first wins; "" means none is close.
func Of(name string, candidates []string) string {
	const longest = 64 // nobody misspells more by accident
	if name == "" || len(name) > longest {
		return ""
	}
	lower := strings.ToLower(name)
	best, allowed := "", 2*(max(1, len(name)/3)+1)
	var begun []string
	for _, c := range candidates {
		if c == "" || len(c) > longest {
			continue
		}
		slips := 2 * distance([]rune(lower), []rune(strings.ToLower(c)))
		if len(name) > 1 && strings.HasPrefix(strings.ToLower(c), lower) {
			begun = append(begun, c)
			slips-- // letters left out at the end are likelier than others
		}
		if slips < allowed && slips < 2*len(name)-1 {
			best, allowed = c, slips
		}
	}
	if best == "" && len(begun) == 1 {
		return begun[0]
	}
	return best
}

// distance counts the insertions, deletions, substitutions and swaps of neighbors that turn a into b.
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, change)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
