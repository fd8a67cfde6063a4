package controller

// nearest returns the name that key is but for a few slips of the fingers; empty when there is none.
func nearest(key string, all []string) string {
	const longest = 64 // nobody misspells more by accident
	if len(key) > longest {
		return ""
	}
	best, distance := "", len(key)/4+2
	for _, name := range all {
		if d := edits(key, name); d < distance {
			best, distance = name, d
		}
	}
	return best
}

// edits is the number of single-letter edits between a and b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, replaced)
		}
	}
	return row[len(b)]
}
