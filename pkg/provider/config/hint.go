package config

import (
	"slices"
	"strings"
)

// unknownHint says what may have been meant by a key that its section does not know. all are the section's keys, and
// elsewhere are keys of other sections by what they are called there in full.
func unknownHint(key string, all []string, elsewhere map[string]string) string {
	if best := nearest(key, all); best != "" {
		return "did you mean " + best + "?"
	}
	if there := elsewhere[fold(key)]; there != "" {
		return "did you mean " + there + "?"
	}
	return ""
}

// nearest returns the name that key is but for case, hyphens or a slip or two; empty when there is none.
func nearest(key string, all []string) string {
	const longest = 64 // nobody misspells more by accident
	if len(key) > longest {
		return ""
	}
	folded := fold(key)
	if len(folded) < 3 {
		return ""
	}
	best, distance := "", 3
	for _, name := range slices.Sorted(slices.Values(all)) {
		if fold(name) == folded {
			return name
		}
		if d := editDistance(folded, fold(name)); d < distance {
			best, distance = name, d
		}
	}
	return best
}

// fold makes insecure-flag, insecure_flag and InsecureFlag one.
func fold(key string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(key))
}

// editDistance is the number of single-letter edits between a and b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
