package page

// mostRows is how many rows a lane may have: what happens at once then stands one below the other.
const mostRows = 5

// row is one line of marks in a lane while it is filled.
type row struct {
	end   float64 // of what is in it, with its last label
	bare  float64 // without it
	last  *Mark
	marks int
}

// pack puts the marks of a lane, which are in order of their X, in rows, so that neither marks nor labels cover each other.
// Where there is no room, labels go first. It returns the number of rows.
func pack(marks []*Mark, right float64) int {
	var rows []row
	for _, m := range marks {
		n := fit(rows, m, right)
		if n < 0 && len(rows) < mostRows {
			rows = append(rows, row{})
			n = len(rows) - 1
			fitLabel(m, right, -1)
		}
		if n < 0 {
			n = crowd(rows, m)
		}
		r := &rows[n]
		m.Row = n
		r.last, r.bare, r.end = m, m.X+markRoom, m.X+markRoom
		r.marks++
		if m.Label != "" && !m.LabelLeft {
			r.end += labelWidth(m.Label)
		}
	}
	return max(1, len(rows))
}

// fit finds the first row where the mark and its label have room, -1 when there is none.
func fit(rows []row, m *Mark, right float64) int {
	for n := range rows {
		if rows[n].end <= m.X-markRoom && fitLabel(m, right, rows[n].end) {
			return n
		}
	}
	return -1
}

// fitLabel puts the label to the right of the mark or, at the edge, to its left, where it must not reach end.
func fitLabel(m *Mark, right, end float64) bool {
	m.LabelLeft = m.X+markRoom+labelWidth(m.Label) > right
	return !m.LabelLeft || end < 0 || m.X-markRoom-labelWidth(m.Label) >= end
}

// crowd finds a place in rows that are all full: there the last label goes, and so does this one.
func crowd(rows []row, m *Mark) int {
	best := 0
	for n := range rows {
		if rows[n].bare < rows[best].bare {
			best = n
		}
	}
	rows[best].last.Label, m.Label = "", ""
	return best
}

// markRoom is half of what a mark takes.
const markRoom = 6.5

func labelWidth(label string) float64 {
	if label == "" {
		return 0
	}
	return float64(len([]rune(label)))*charWidth + 8
}

// charWidth is what a character of a label takes at most, on average.
const charWidth = 5.7
