package report

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// StepLine describes a finished step on one line: "expect node a is ready (4.20 s, 4.19 s after its cause): Ready is True".
func StepLine(s result.Step) string {
	text := s.Action + " " + Line(s.Text)
	switch {
	case s.Verdict == result.Skipped, s.Verdict == result.Interrupted:
		text += " (" + string(s.Verdict) + ")"
	case s.Latency > 0:
		text += fmt.Sprintf(" (%s, %s after its cause)", Took(s.Took), Took(s.Latency))
	case s.Took > 0:
		text += fmt.Sprintf(" (%s)", Took(s.Took))
	}
	if s.Message != "" {
		text += ": " + Line(s.Message)
	}
	return text
}

// Nodes returns a table of nodes, a line each.
func Nodes(nodes []api.Node) string {
	rows := [][]string{{"NODE", "READY", "INITIALIZED", "POWER", "REGION", "ZONE", "ADDRESSES", "TAINTS"}}
	for _, n := range nodes {
		ready := n.Ready
		if !n.Registered {
			ready = "absent"
		}
		rows = append(rows, []string{
			n.Name, ready, fmt.Sprint(n.Initialized), n.Power, n.Region, n.Zone, strings.Join(n.Addresses, ","), strings.Join(n.Taints, ","),
		})
	}
	return Table(rows)
}

// Table aligns rows, all of the same number of cells.
func Table(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cellText(cell)))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			cell = cellText(cell)
			line.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+3))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

func cellText(cell string) string {
	if cell = Line(cell); cell == "" {
		return "-"
	}
	return cell
}

// Took formats a duration in a readable unit: 840 ms, 4.25 s, 2m05s.
func Took(d time.Duration) string {
	switch {
	case d < 0:
		return "−" + Took(-d)
	case d == 0:
		return "0 s"
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	d = d.Round(time.Second)
	return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
}

// Glyph returns a verdict as one character. Print the word with it.
func Glyph(v result.Verdict) string {
	switch v {
	case result.Passed:
		return "✓"
	case result.Failed, result.Errored, result.Known:
		return "✗"
	case result.Skipped, result.Interrupted:
		return "–"
	}
	return "…"
}

// Object formats the object of an event: "VM us/worker-1"; "" for the whole sandbox.
func Object(o event.Object) string {
	name := o.Name
	if o.VCenter != "" && o.VCenter != name {
		name = o.VCenter + "/" + name
	}
	return strings.TrimSpace(o.Kind + " " + name)
}

// Line puts a text on one line, and replaces control characters.
func Line(text string) string {
	return strings.Join(strings.Fields(printable.Line(text)), " ")
}

// Lines replaces control characters in a text, except line breaks.
func Lines(text string) string { return strings.TrimRight(printable.Lines(text), "\n") }
