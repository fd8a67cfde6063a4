package tui

// The smallest terminal in which all that matters can be seen.
const (
	LeastWidth  = 80
	LeastHeight = 24
)

// rect is a place on the screen, in cells.
type rect struct{ x, y, width, height int }

// layout is where everything is.
type layout struct {
	small                    bool // nothing fits
	header, tabs, body, foot rect
}

// arrange divides a terminal.
func arrange(width, height int) layout {
	if width < LeastWidth || height < LeastHeight {
		return layout{small: true}
	}
	return layout{
		header: rect{0, 0, width, 1},
		tabs:   rect{0, 1, width, 1},
		body:   rect{0, 2, width, height - 3},
		foot:   rect{0, height - 1, width, 1},
	}
}

// box is where an overlay of a size stands in the body, with a line around it.
func (l layout) box(width, height int) rect {
	w, h := min(width+2, l.body.width), min(height+2, l.body.height)
	return rect{l.body.x + (l.body.width-w)/2, l.body.y + (l.body.height-h)/2, w, h}
}
