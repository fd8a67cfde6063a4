package timeline

// The sizes from which on there is more.
const (
	laneWidth  = 130 // lanes are columns, no tags
	wideWidth  = 96  // kinds and objects have more room; a chain shows times
	clockWidth = 70  // times have milliseconds
	hopWidth   = 50  // latencies are shown
	footHeight = 16  // the selected event is shown whole
	tallHeight = 40  // so is a long message
)

// heights are the lines of the title and the header, of the rows, and of the foot.
func (s *Screen) heights() (head, rows, foot int) {
	head = min(2, max(0, s.height-1))
	switch {
	case s.height >= tallHeight:
		foot = 6
	case s.height >= footHeight:
		foot = 4
	}
	return head, max(0, s.height-head-foot), foot
}

// columns are how wide the columns are that rows of every layout have.
type columns struct {
	time, latency int // 0 for none
	kind, object  int
	step          int // from one lane to the next, 0 where lanes are no columns
}

func (s *Screen) columns() columns {
	c := columns{time: len("15:04:05"), kind: 16, object: 12}
	if s.width >= clockWidth {
		c.time = len("15:04:05.000")
	}
	if s.width >= hopWidth {
		c.latency = len("↳ +36.2s") - len("↳") + 1
	}
	if s.width >= wideWidth {
		c.kind, c.object = 20, 18
	}
	if s.width >= laneWidth {
		c.step, c.kind, c.object = max(15, s.width*11/100), 14, 14
	}
	return c
}

// clock is the layout of times, in as many cells as there are for them.
func (c columns) clock() string {
	if c.time > len("15:04:05") {
		return "15:04:05.000"
	}
	return "15:04:05"
}
