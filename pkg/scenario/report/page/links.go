package page

import (
	"fmt"
	"slices"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report"
)

// Link is a curve from a cause to what it made happen.
type Link struct {
	From, To uint64
	Path     string
	Group    string // of the cause
	Label    string // how long it took; empty when there is no room for it
	LX, LY   float64
	LW       float64
}

// links draws the causes. Long ones get the first choice of a place for their label.
func links(t *Timeline, marks map[uint64]*Mark) []Link {
	var all []Link
	var taken []box
	for _, l := range t.Lanes {
		for _, m := range l.Marks {
			y := l.Y + m.Y
			taken = append(taken, box{m.X - 6, y - 6, m.X + 6, y + 6})
			if m.Label != "" {
				w := labelWidth(m.Label)
				left := m.X + 6
				if m.LabelLeft {
					left = m.X - 6 - w
				}
				taken = append(taken, box{left, y - 6, left + w, y + 6})
			}
			if cause := marks[m.Cause]; cause != nil {
				y1 := cause.lane.Y + cause.Y
				all = append(all, Link{From: m.Cause, To: m.Seq, Path: curve(cause.X, y1, m.X, y), Group: cause.lane.Group.ID})
			}
		}
	}
	latency := func(l Link) time.Duration { return marks[l.To].event.Time.Sub(marks[l.From].event.Time) }
	slices.SortStableFunc(all, func(a, b Link) int { return int(latency(b) - latency(a)) })
	for i := range all {
		a, b := marks[all[i].From], marks[all[i].To]
		all[i].label(latency(all[i]), a.X, a.lane.Y+a.Y, b.X, b.lane.Y+b.Y, &taken)
	}
	return all
}

// curve leaves its cause to the right and arrives from the left; where both happen at once it bends out and back.
func curve(x1, y1, x2, y2 float64) string {
	c1, c2 := bend(x1, x2)
	return fmt.Sprintf("M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f", x1, y1, c1, y1, c2, y2, x2, y2)
}

// bend returns the x of the two control points. The script has it, too.
func bend(x1, x2 float64) (float64, float64) {
	dx := max((x2-x1)*0.5, 22)
	if x2-x1 < 30 {
		return x1 - 22, x2 - 22
	}
	return x1 + dx, x2 - dx
}

// box is a place on the page that is taken.
type box struct{ left, top, right, bottom float64 }

func (b box) meets(o box) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

// label writes the latency on the curve where there is room.
func (l *Link) label(took time.Duration, x1, y1, x2, y2 float64, taken *[]box) {
	text := "+" + report.Took(took)
	w := float64(len([]rune(text)))*5.6 + 10
	c1, c2 := bend(x1, x2)
	for _, f := range []float64{0.5, 0.42, 0.58, 0.34, 0.66, 0.25, 0.75} {
		x, y := bezier(f, x1, c1, c2, x2), bezier(f, y1, y1, y2, y2)
		b := box{x - w/2, y - 7, x + w/2, y + 7}
		if b.left < plotLeft || b.right > plotRight || slices.ContainsFunc(*taken, b.meets) {
			continue
		}
		*taken = append(*taken, b)
		l.Label, l.LX, l.LY, l.LW = text, round(x), round(y), w
		return
	}
}

func bezier(f, a, b, c, d float64) float64 {
	g := 1 - f
	return g*g*g*a + 3*g*g*f*b + 3*g*f*f*c + f*f*f*d
}
