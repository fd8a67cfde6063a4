package calls

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
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
