package topology

import "strings"

// maxGuessed is the length past which names are not compared: nobody misspells that much by accident.
const maxGuessed = 64

// nearest returns the candidate closest to name, or "" if none is close: about one slip in three letters, and case
// counts for nothing. Of equals, the first wins.
func nearest(name string, candidates []string) string {
	if name == "" || len(name) > maxGuessed {
		return ""
	}
	name = strings.ToLower(name)
	best, allowed := "", max(1, len(name)/3)+1
	for _, candidate := range candidates {
		if candidate == "" || len(candidate) > maxGuessed || abs(len(candidate)-len(name)) >= allowed {
			continue
		}
		if d := distance(name, strings.ToLower(candidate)); d < allowed && d < len(name) {
			best, allowed = candidate, d
		}
	}
	return best
}

// distance counts the insertions, deletions, substitutions and swaps of neighbors (bytewise) that turn a into b.
func distance(a, b string) int {
	var rows [3][maxGuessed + 1]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
