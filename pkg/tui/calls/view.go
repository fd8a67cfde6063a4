package calls

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/table"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// footHeight is the minimum height for the details of the selected row.
const footHeight = 16

// heights returns the lines of the title, of the table with its header, and of the foot.
func (s *Screen) heights() (title, rows, foot int) {
	if s.height > 2 {
		title = 1
	}
	if s.height >= footHeight {
		foot = 4
	}
	return title, max(0, s.height-title-foot), foot
}

// columns returns the columns of the table; the sort column is marked.
func (s *Screen) columns() []table.Column {
	title := func(name string, by ...order) string {
		if slices.Contains(by, s.order) {
			return name + theme.GlyphOpen
		}
		return name
	}
	return []table.Column{
		{Title: title("VCENTER", byName), Width: 8},
		{Title: "CLIENT", Width: 14, Flex: 2},
		{Title: "METHOD", Width: 16, Flex: 3},
		{Title: title("CALLS", byCalls), Width: 7, Right: true},
		{Title: title("RATE/s", byRate), Width: 7, Right: true},
		{Title: title("MEAN", byLatency), Width: 6, Right: true},
		{Title: title("ERRORS", byErrors), Width: 7, Right: true},
		{Title: "ERR/s", Width: 5, Right: true, Drop: 4},
		{Title: "HITS", Width: 5, Right: true, Drop: 3},
		{Title: "LAST", Width: 5, Right: true, Drop: 1},
		{Title: "LAST MINUTE", Width: slots, Drop: 2},
	}
}

// cells returns the cells of a row.
func (s *Screen) cells(r *row) []table.Cell {
	t := s.theme
	mean, errors, hits := t.Text, t.Dim, t.Dim
	if !r.recent {
		mean = t.Dim
	}
	failed := number(r.errors)
	switch {
	case r.failing > 0:
		errors, failed = t.Bad, theme.GlyphBad+failed
	case r.errors > 0:
		errors = t.Warn
	}
	if r.hits > 0 {
		hits = t.Warn
	}
	vcenter, last := text.Clean(r.vcenter), "-"
	if r.vcenters > 1 {
		vcenter = fmt.Sprintf("(%d)", r.vcenters)
	}
	if !r.last.IsZero() {
		last = text.Ago(s.ago(r.last))
	}
	return []table.Cell{
		{Text: vcenter, Style: t.VSphere},
		{Text: several(text.Agent(r.client), r.clients, "client"), Style: t.Text},
		{Text: several(text.Method(r.method), r.methods, "method"), Style: t.Text},
		{Text: number(r.calls), Style: t.Text},
		{Text: rate(r.rate), Style: alive(t, r.rate)},
		{Text: latency(r), Style: mean},
		{Text: failed, Style: errors},
		{Text: rate(r.failing), Style: errors},
		{Text: number(r.hits), Style: hits},
		{Text: last, Style: t.Dim},
		{Text: r.history.spark(), Style: t.Drivers},
	}
}

// alive returns the style of a rate.
func alive(t *theme.Theme, rate float64) theme.Style {
	if rate > 0 {
		return t.Text
	}
	return t.Dim
}

// rate formats calls per second.
func rate(r float64) string {
	switch {
	case r == 0:
		return "-"
	case r < 0.1:
		return strconv.FormatFloat(r, 'f', 2, 64)
	case r < 100:
		return strconv.FormatFloat(r, 'f', 1, 64)
	}
	return number(uint64(r + 0.5))
}

// number formats a count in at most seven cells.
func number(n uint64) string {
	switch {
	case n < 100_000:
		return text.Count(n)
	case n < 10_000_000:
		return text.Count(n/1000) + "k"
	}
	return text.Count(n/1_000_000) + "M"
}

// View returns the screen.
func (s *Screen) View() string {
	if s.state == nil {
		return text.Block(nil, s.width, s.height)
	}
	title, _, foot := s.heights()
	var lines []string
	if title > 0 {
		lines = append(lines, s.title())
	}
	lines = append(lines, strings.Split(s.table.View(), "\n")...)
	if foot > 0 {
		lines = append(lines, s.foot(foot)...)
	}
	return text.Block(lines, s.width, s.height)
}

// title shows the state of each vCenter's gate and its rate.
func (s *Screen) title() string {
	t := s.theme
	var parts []string
	for _, vc := range world.Values[api.VCenter](s.state.World(), world.VCenter) {
		m := glance.Gate(vc)
		said := text.Clean(m.String())
		if vc.Gate == "slow" && vc.Delay > 0 {
			said += " +" + text.Took(time.Duration(vc.Delay))
		}
		calls := ""
		if r := s.rates[vc.Name]; r > 0 {
			calls = " " + rate(r) + "/s"
		}
		parts = append(parts, t.VSphere.Render(text.Clean(vc.Name))+" "+m.Style(t).Render(said)+t.Text.Render(calls))
	}
	left := strings.Join(parts, "   ")
	right := "sorted by " + s.order.String()
	if s.by != byCall {
		right = s.by.String() + ", " + right
	}
	if s.filter != "" {
		right += ", matching " + text.Clean(s.filter)
	}
	room := s.width - text.Width(left) - 2
	if text.Width(right) > room {
		return text.Fit(left, s.width)
	}
	return left + t.Dim.Render(text.Right(right, s.width-text.Width(left)))
}

// foot shows the selected row in full, with its last error.
func (s *Screen) foot(height int) []string {
	t := s.theme
	lines := []string{t.Border.Render(strings.Repeat("─", s.width))}
	if r, ok := s.selected(); ok {
		who := text.Clean(r.client)
		if r.clients != 1 || who == "" {
			who = several(text.Agent(r.client), r.clients, "client")
		}
		said := fmt.Sprintf("%s → %s  %s", who, text.Clean(several(r.vcenter, r.vcenters, "vCenter")), text.Clean(several(r.method, r.methods, "method")))
		lines = append(lines, t.Text.Render(text.Cut(said, s.width)))
		lines = append(lines, s.describe(r, height-len(lines))...)
	}
	lines = append(lines, make([]string, max(0, height-len(lines)))...)
	return lines[:height]
}

// describe describes a row in so many lines: the results of its calls, and the last failure.
func (s *Screen) describe(r *row, most int) []string {
	t := s.theme
	said := text.Count(r.calls-r.polls) + " calls, " + text.Took(r.mean) + " each"
	switch {
	case r.polls == r.calls:
		said = text.Count(r.polls) + " long polls, which wait for a change"
	case r.polls > 0:
		said += ", and " + text.Count(r.polls) + " long polls"
	}
	if r.hits > 0 {
		said += ", " + text.Count(r.hits) + " hit by faults"
	}
	if r.errors == 0 {
		return []string{t.Dim.Render(text.Cut(said+", none failed", s.width))}
	}
	said += ", " + text.Count(r.errors) + " failed"
	lines := []string{t.Warn.Render(text.Cut(said, s.width))}
	if r.failed == "" {
		return lines
	}
	answer := text.Wrap("the last: "+text.Clean(r.failed), s.width)
	if room := most - len(lines); len(answer) > room {
		answer = append(answer[:room-1:room-1], text.Cut(strings.Join(answer[room-1:], " "), s.width))
	}
	for _, l := range answer {
		lines = append(lines, t.Text.Render(l))
	}
	return lines
}

// latency returns the mean latency of a row, or that it has long polls only.
func latency(r *row) string {
	if r.polls == r.calls && r.calls > 0 {
		return "poll"
	}
	return text.Took(r.mean)
}

// grouping is how rows are summed up.
type grouping int

const (
	byCall grouping = iota // every client's calls of every method of every vCenter
	byClient
	byMethod
	byVCenter
	groupings
)

// String returns the text in the title; "" without grouping.
func (g grouping) String() string {
	return [...]string{"", "by client", "by method", "by vCenter"}[g]
}

// order is the sort order of rows.
type order int

const (
	byRate order = iota
	byCalls
	byErrors
	byLatency
	byName
	orders
)

func (o order) String() string {
	return [...]string{"rate", "calls", "errors", "latency", "name"}[o]
}

// row is a line of the screen: the calls of one kind, or a sum.
type row struct {
	key                     string // unique in its grouping
	vcenter, client, method string // "" where they differ
	vcenters, clients       int    // the number of each
	methods                 int
	calls, errors, hits     uint64
	polls                   uint64        // of the calls, those that are long polls
	total                   time.Duration // of all calls but long polls
	rate, failing           float64       // in the window
	answered                float64       // rate without long polls
	mean                    time.Duration // in the window, without long polls; of all calls if it has none
	recent                  bool          // mean is of the window
	last                    time.Time
	failed                  string // the error of the newest failure
	failedLast              time.Time
	history                 history
}

// key returns the key of the row that counts some calls.
func (g grouping) key(vcenter, client, method string) string {
	switch g {
	case byClient:
		return client
	case byMethod:
		return method
	case byVCenter:
		return vcenter
	default:
		return vcenter + "\x00" + client + "\x00" + method
	}
}

// sum makes the rows of a grouping from the matching calls, with their history up to now.
func sum(all []fold.Call, bursts []fold.Burst, by grouping, match func(*fold.Call) bool, now time.Time) []*row {
	rows := map[string]*row{}
	parts := map[string]*names{}
	for i := range all {
		c := &all[i]
		if !match(c) {
			continue
		}
		key := by.key(c.VCenter, c.Client, c.Method)
		if rows[key] == nil {
			rows[key], parts[key] = &row{key: key}, newNames()
		}
		rows[key].add(c)
		parts[key].add(c)
	}
	for key, r := range rows {
		parts[key].report(r)
		if r.recent {
			r.mean = time.Duration(float64(r.mean) / r.answered)
		} else if r.calls > r.polls {
			r.mean = r.total / time.Duration(r.calls-r.polls)
		}
	}
	remember(rows, bursts, by, now)
	list := make([]*row, 0, len(rows))
	for _, r := range rows {
		list = append(list, r)
	}
	return list
}

// add counts some calls. Until all are added, mean is weighted by the rate.
func (r *row) add(c *fold.Call) {
	r.calls += c.Calls.Calls
	r.errors += c.Errors
	r.hits += c.Hits
	r.rate += c.Rate
	switch {
	case fold.IsLongPoll(c.Method):
		r.polls += c.Calls.Calls
	default:
		r.total += time.Duration(c.Latency)
		if c.Rate > 0 {
			r.answered += c.Rate
			r.mean += time.Duration(float64(c.Mean) * c.Rate)
			r.recent = true
		}
	}
	r.failing += c.Failing
	if c.Last.After(r.last) {
		r.last = c.Last
	}
	if c.LastError != "" && !c.Last.Before(r.failedLast) {
		r.failed, r.failedLast = c.LastError, c.Last
	}
}

// names are the names of the calls in a row.
type names struct{ vcenters, clients, methods map[string]bool }

func newNames() *names { return &names{map[string]bool{}, map[string]bool{}, map[string]bool{}} }

func (n *names) add(c *fold.Call) {
	n.vcenters[c.VCenter], n.clients[c.Client], n.methods[c.Method] = true, true, true
}

// report sets what all the calls of a row have in common.
func (n *names) report(r *row) {
	one := func(all map[string]bool, s *string) int {
		if len(all) == 1 {
			for name := range all {
				*s = name
			}
		}
		return len(all)
	}
	r.vcenters, r.clients, r.methods = one(n.vcenters, &r.vcenter), one(n.clients, &r.client), one(n.methods, &r.method)
}

// sorted sorts rows; equal ones by name.
func (o order) sorted(rows []*row) []*row {
	slices.SortFunc(rows, func(a, b *row) int {
		c := 0
		switch o {
		case byRate:
			c = cmp.Compare(b.rate, a.rate)
		case byCalls:
			c = cmp.Compare(b.calls, a.calls)
		case byErrors:
			c = cmp.Or(cmp.Compare(b.failing, a.failing), cmp.Compare(b.errors, a.errors))
		case byLatency:
			c = cmp.Compare(b.mean, a.mean)
		default: // by name alone
		}
		return cmp.Or(c, cmp.Compare(a.vcenter, b.vcenter), cmp.Compare(a.client, b.client), cmp.Compare(a.method, b.method))
	})
	return rows
}

// matcher returns a func that reports whether a call has all words of a filter in its vCenter, client, method or last error, in
// any case.
func matcher(filter string) func(*fold.Call) bool {
	words := strings.Fields(strings.ToLower(filter))
	return func(c *fold.Call) bool {
		if len(words) == 0 {
			return true
		}
		all := strings.ToLower(strings.Join([]string{c.VCenter, c.Client, c.Method, c.LastError}, "\n"))
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(all, w) })
	}
}

// several returns the only name, or how many there are: "3 methods".
func several(name string, n int, what string) string {
	if n == 1 {
		return name
	}
	return text.Count(uint64(n)) + " " + what + "s"
}

const (
	// slots is the number of points in a history; each covers the same time.
	slots = 12
	slot  = 5 * time.Second
)

// history is the number of calls in the last minute, oldest first. The newest slot is incomplete.
type history [slots]uint64

// remember fills in the histories of rows from the bursts.
func remember(rows map[string]*row, bursts []fold.Burst, by grouping, now time.Time) {
	newest := now.Truncate(slot)
	oldest := newest.Add(-(slots - 1) * slot)
	for i := len(bursts) - 1; i >= 0 && !bursts[i].At.Before(oldest); i-- {
		b := &bursts[i]
		if r := rows[by.key(b.VCenter, b.Client, b.Method)]; r != nil && !b.At.After(now) {
			r.history[slots-1-int(newest.Sub(b.At.Truncate(slot))/slot)] += b.Calls
		}
	}
}

// spark draws the history, each cell as high as its part of the maximum.
func (h history) spark() string {
	var top uint64
	for _, n := range h {
		top = max(top, n)
	}
	levels := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, n := range h {
		if n == 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(levels[(n*uint64(len(levels))-1)/top])
	}
	return b.String()
}
