package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// showCalls chooses the calls to show among the events.
type showCalls int

const (
	allCalls showCalls = iota
	failedCalls
	noCalls
	callChoices
)

// String returns the text in the title and in the help.
func (c showCalls) String() string {
	return [...]string{"all calls", "failed calls only", "no calls"}[c]
}

// burst is the calls of one client to one vCenter between two events: all that succeeded, or all with failures.
type burst struct {
	vcenter, client string
	methods         []string
	first, last     time.Time
	calls, errors   uint64
	polls           uint64        // of the calls, those that are long polls
	total           time.Duration // of all calls but long polls
	err             string        // what the newest that failed was answered
}

func newBurst(b *fold.Burst) *burst {
	n := &burst{vcenter: b.VCenter, client: b.Client, first: b.At}
	n.add(b)
	return n
}

// same reports whether more calls belong to it.
func (b *burst) same(more *fold.Burst) bool {
	return b.vcenter == more.VCenter && b.client == more.Client && (b.errors > 0) == (more.Errors > 0)
}

func (b *burst) add(more *fold.Burst) {
	if !slices.Contains(b.methods, more.Method) {
		b.methods = append(b.methods, more.Method)
	}
	if more.At.After(b.last) {
		b.last = more.At
	}
	b.calls += more.Calls
	b.errors += more.Errors
	if fold.IsLongPoll(more.Method) {
		b.polls += more.Calls
	} else {
		b.total += more.Mean * time.Duration(more.Calls)
	}
	if more.Error != "" {
		b.err = more.Error
	}
}

// level returns warning if some of the calls failed.
func (b *burst) level() event.Level {
	if b.errors > 0 {
		return event.Warning
	}
	return event.Info
}

// tag returns the caller, in three cells.
func (b *burst) tag() string {
	switch name := text.Agent(b.client); {
	case strings.Contains(name, "cloud-provider"):
		return "ccm"
	case strings.Contains(name, "csi"):
		return "csi"
	}
	return "api"
}

// who returns the caller and the vCenter. After a tag it does not repeat the driver.
func (b *burst) who(tagged bool) string {
	to := "→ " + text.Clean(b.vcenter)
	if tagged && b.tag() != "api" {
		return to
	}
	return text.Agent(b.client) + " " + to
}

// what returns the methods.
func (b *burst) what() string {
	if len(b.methods) == 1 {
		return text.Method(b.methods[0])
	}
	return fmt.Sprintf("%d methods", len(b.methods))
}

// count returns the number of calls, over how long, and their latency. Long polls are counted apart: they wait for a change.
func (b *burst) count() string {
	calls := b.calls - b.polls
	if calls == 0 {
		return plural(b.polls, "long poll") + b.in()
	}
	each := " each"
	if calls == 1 {
		each = ""
	}
	said := plural(calls, "call") + b.in() + ", " + text.Took(b.total/time.Duration(calls)) + each
	if b.polls > 0 {
		said += ", " + plural(b.polls, "long poll")
	}
	return said
}

// in returns how long the calls took from the first to the last, "" for less than a second.
func (b *burst) in() string {
	if d := b.last.Sub(b.first).Truncate(time.Second); d > 0 && b.calls > 1 {
		return " in " + text.Took(d)
	}
	return ""
}

func plural(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return text.Count(n) + " " + what + "s"
}

// failed returns the number of failures, and the last error.
func (b *burst) failed() string {
	said := text.Count(b.errors) + " failed"
	if b.err != "" {
		said += ": " + short(b.err)
	}
	return said
}

// describe describes the burst: the answer of the last failure, and the calls.
func (b *burst) describe() string {
	methods := make([]string, len(b.methods))
	for i, m := range b.methods {
		methods[i] = text.Method(m)
	}
	said := strings.Join(methods, ", ")
	if b.err != "" {
		said = "the last that failed: " + b.err + "; called: " + said
	}
	return said
}

// lane is a lane of the timeline, in the order in which causes run through them.
type lane int

const (
	sandboxLane lane = iota // faults, commands, children
	vsphereLane             // inventories
	driversLane             // the CCM, the CSI driver, and all calls to vCenters
	kubeLane                // objects of the API server
	lanes
)

// String returns the lane as a word, as in filters.
func (l lane) String() string { return [...]string{"sandbox", "vsphere", "calls", "kubernetes"}[l] }

// heading returns the title of the lane's column.
func (l lane) heading() string {
	return [...]string{"SANDBOX", "VSPHERE", "CCM, CSI, API", "KUBERNETES"}[l]
}

// style returns the style of the lane.
func (l lane) style(t *theme.Theme) theme.Style {
	return [...]theme.Style{t.Sandbox, t.VSphere, t.Drivers, t.Kube}[l]
}

// laneOf returns the lane of an event. The drivers' actions are reported by several planes, and have a lane by kind.
func laneOf(e event.Event) lane {
	switch {
	case strings.HasPrefix(e.Kind, "ccm."), strings.HasPrefix(e.Kind, "csi."):
		return driversLane
	case e.Plane == event.PlaneVSphere:
		return vsphereLane
	case e.Plane == event.PlaneKubernetes:
		return kubeLane
	}
	return sandboxLane
}

// tag returns the lane of an event without a column, in three cells.
func tag(e event.Event) string {
	switch l := laneOf(e); l {
	case driversLane:
		return e.Kind[:3]
	default:
		return [...]string{"sbx", "vSp", "api", "k8s"}[l]
	}
}

// level returns the level of an event as a glyph of one cell and a word.
func level(l event.Level) (glyph, word string) {
	switch l {
	case event.Warning:
		return theme.GlyphWarn, "warning"
	case event.Error:
		return theme.GlyphBad, "error"
	default:
		return " ", "info"
	}
}

// levelStyle returns the style of a level.
func levelStyle(l event.Level, t *theme.Theme) theme.Style {
	switch l {
	case event.Warning:
		return t.Warn
	case event.Error:
		return t.Bad
	default:
		return t.Text
	}
}

// latency formats the time from the cause, in at most six cells: +4ms, +0.42s, +36.2s, +2m05s, +17m. Clocks that differ make it
// zero.
func latency(d time.Duration) string {
	switch d = max(0, d); {
	case d == 0:
		return "+0s"
	case d < 10*time.Millisecond:
		return "+" + text.Took(d)
	case d < 10*time.Second:
		return fmt.Sprintf("+%.2fs", d.Truncate(10*time.Millisecond).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("+%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d >= 10*time.Hour:
		return fmt.Sprintf("+%dh", int(d.Hours()))
	case d >= 10*time.Minute && d < time.Hour:
		return fmt.Sprintf("+%dm", int(d.Minutes()))
	}
	return "+" + text.Took(d)
}

// The minimum sizes of the layouts.
const (
	laneWidth  = 130 // lanes are columns, no tags
	wideWidth  = 96  // kinds and objects have more room; a chain shows times
	clockWidth = 70  // times have milliseconds
	hopWidth   = 50  // latencies are shown
	footHeight = 16  // the selected event is shown whole
	tallHeight = 40  // so is a long message
)

// heights returns the lines of the title and the header, of the rows, and of the foot.
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

// columns returns the widths of the columns of all layouts.
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

// clock returns the layout of times for a width.
func (c columns) clock() string {
	if c.time > len("15:04:05") {
		return "15:04:05.000"
	}
	return "15:04:05"
}

// line collects a line of the screen: styled pieces of text, as many as fit.
type line struct {
	width    int
	used     int
	theme    *theme.Theme
	selected bool
	b        strings.Builder
}

// put adds a text.
func (l *line) put(s string, style theme.Style) {
	room := l.width - l.used
	if s == "" || room <= 0 {
		return
	}
	if s = text.Cut(s, room); l.selected {
		style = l.theme.Selected.Inherit(style)
	}
	l.used += text.Width(s)
	if !l.selected && strings.TrimLeft(s, " ") == "" {
		l.b.WriteString(s)
		return
	}
	l.b.WriteString(style.Render(s))
}

// cell adds a text of so many cells, and a space.
func (l *line) cell(s string, width int, style theme.Style) {
	l.put(text.Fit(s, width), style)
	l.put(" ", l.theme.Text)
}

// least adds a text of at least so many cells, and a space.
func (l *line) least(s string, width int, style theme.Style) {
	l.put(s, style)
	l.put(strings.Repeat(" ", max(0, width-text.Width(s))+1), l.theme.Text)
}

// to pads to a cell.
func (l *line) to(x int) {
	l.put(strings.Repeat(" ", max(0, x-l.used)), l.theme.Text)
}

// String returns the line, padded.
func (l *line) String() string {
	l.to(l.width)
	return l.b.String()
}

// uuid is the pattern of a UUID: x is a hexadecimal digit.
const uuid = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"

// short cleans foreign text for a row, and shortens UUIDs to the part before their first dash: pvc-1f6b3c52….
func short(s string) string {
	s = text.Clean(s)
	if len(s) < len(uuid) {
		return s
	}
	var b strings.Builder
	from := 0
	for i := 0; i+len(uuid) <= len(s); {
		if !isUUID(s[i : i+len(uuid)]) {
			i++
			continue
		}
		b.WriteString(s[from : i+8])
		b.WriteString("…")
		i += len(uuid)
		from = i
	}
	if from == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

func isUUID(s string) bool {
	if s[8] != '-' { // nearly all that are none
		return false
	}
	for i := range len(uuid) {
		switch c := s[i]; {
		case uuid[i] == '-':
			if c != '-' {
				return false
			}
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
		default:
			return false
		}
	}
	return true
}
