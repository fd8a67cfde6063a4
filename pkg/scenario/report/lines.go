package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// StepLine describes a finished step on one line: "expect node a is ready (4.20 s, 4.19 s after its cause): Ready is True".
func StepLine(s result.Step) string {
	text := s.Action + " " + Line(s.Text)
	switch {
	case s.Verdict == result.Skipped:
		text += " (skipped)"
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
