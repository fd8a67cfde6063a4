// Package nearest guesses what a person meant to type, by the rule of docs/patterns.md.
//
// Floor 0.
package nearest

import (
	"strings"
	"unicode"
)

// Of returns the candidate that name most probably stands for: one that differs by no more than about one slip in three
// characters, or the only one that it begins. A slip is a character that is missing, too many or another, or two that are
// swapped. Case, hyphens and underscores count for nothing; of equals the first wins; "" means that none is close.
//
// A word for on or off stands for the candidate that means the same, and never for one that means the opposite: "no" is "off",
// although "on" is closer.
func Of(name string, candidates []string) string {
	const longest = 64 // a longer name is no typing error
	if len(name) > longest {
		return ""
	}
	typed := fold(name)
	if len(typed) == 0 {
		return ""
	}
	meaning := meaningOf(typed)
	if meaning != neither {
		for _, c := range candidates {
			if meaningOf(fold(c)) == meaning {
				return c
			}
		}
	}
	best, allowed := "", 2*(max(1, len(typed)/3)+1)
	var begun []string
	for _, c := range candidates {
		meant := fold(c)
		if len(meant) == 0 || len(c) > longest || meaning != neither && meaningOf(meant) == -meaning {
			continue
		}
		begins := len(typed) > 1 && strings.HasPrefix(string(meant), string(typed))
		if begins {
			begun = append(begun, c)
		}
		if 2*max(len(meant)-len(typed), len(typed)-len(meant)) > allowed {
			continue // at least so many slips
		}
		slips := 2 * distance(typed, meant)
		if begins {
			slips-- // letters left out at the end are likelier than others
		}
		if slips < allowed && slips < 2*len(typed)-1 {
			best, allowed = c, slips
		}
	}
	if best == "" && len(begun) == 1 {
		return begun[0]
	}
	return best
}

// meaning is what a word switches.
type meaning int

const (
	off     meaning = -1
	neither meaning = 0
	on      meaning = 1
)

// meaningOf returns the meaning of a folded word.
func meaningOf(word []rune) meaning {
	switch string(word) {
	case "on", "yes", "true", "enable", "enabled", "poweredon", "running":
		return on
	case "off", "no", "false", "disable", "disabled", "poweredoff", "stopped":
		return off
	}
	return neither
}

// fold makes insecure-flag, insecure_flag and InsecureFlag one.
func fold(name string) []rune {
	letters := make([]rune, 0, len(name))
	for _, c := range name {
		if c != '-' && c != '_' {
			letters = append(letters, unicode.ToLower(c))
		}
	}
	return letters
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
