package faults

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/table"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// page collects lines of a width.
type page struct {
	theme *theme.Theme
	width int
	lines []string
}

// add adds a text, wrapped into lines with an indentation.
func (p *page) add(style theme.Style, indent int, s string) {
	if s == "" {
		return
	}
	for _, l := range text.Words(text.Clean(s), max(1, p.width-indent)) {
		p.lines = append(p.lines, strings.Repeat(" ", indent)+style.Render(l))
	}
}

// fact adds a text after a label.
func (p *page) fact(label, s string) {
	if s == "" {
		return
	}
	const width = 11 // that of "happens to", and a space
	for i, l := range text.Words(text.Clean(s), max(1, p.width-width)) {
		head := strings.Repeat(" ", width)
		if i == 0 {
			head = p.theme.Header.Render(label) + strings.Repeat(" ", max(1, width-text.Width(label)))
		}
		p.lines = append(p.lines, head+p.theme.Text.Render(l))
	}
}

func (p *page) gap() { p.lines = append(p.lines, "") }

// aboutKind describes a fault in full.
func aboutKind(th *theme.Theme, width int, k *api.FaultKind) []string {
	p := &page{theme: th, width: width}
	p.add(th.Title, 0, k.Name)
	p.add(th.Text, 0, sentence(k.Short))
	if k.Long != "" {
		p.gap()
		p.add(th.Dim, 0, k.Long)
	}
	if k.Unsupported != "" {
		p.gap()
		p.add(th.Warn, 0, "unsupported here: "+k.Unsupported)
	}
	p.gap()
	p.fact("happens to", k.Object)
	p.fact("needs", strings.Join(k.Needs, " and "))
	if k.Momentary {
		p.fact("ends", "as soon as it has happened: there is nothing to heal")
	}
	p.fact("reported", strings.Join(k.Reported, ", "))
	if len(k.Params) == 0 {
		return p.lines
	}
	p.gap()
	p.add(th.Header, 0, "parameters")
	for _, one := range k.Params {
		head := th.Key.Render(text.Clean(one.Name)) + " " + th.Dim.Render(text.Clean(paramFacts(one)))
		p.lines = append(p.lines, text.Cut(head, width))
		p.add(th.Text, 2, one.Short)
		p.add(th.Dim, 2, strings.Join(one.Choices, " | "))
	}
	return p.lines
}

func paramFacts(p api.FaultParam) string {
	words := []string{}
	if p.Type != "" {
		words = append(words, p.Type)
	}
	switch {
	case p.Required:
		words = append(words, "required")
	case p.Default != "":
		words = append(words, "default "+p.Default)
	}
	return strings.Join(words, ", ")
}

// aboutLease describes a lease in full.
func aboutLease(th *theme.Theme, width int, l *api.Lease, now time.Time) []string {
	p := &page{theme: th, width: width}
	p.lines = append(p.lines, th.Title.Render(text.Clean(l.ID+" "+l.Fault))+"  "+leaseStyle(th, l.State).Render(leaseState(l.State)))
	p.gap()
	if !l.Since.IsZero() {
		p.fact("since", l.Since.In(now.Location()).Format("15:04:05")+", "+text.Ago(now.Sub(l.Since))+" ago")
	}
	switch {
	case l.Ended != nil:
		p.fact("ended", l.Ended.In(now.Location()).Format("15:04:05")+", "+text.Ago(now.Sub(*l.Ended))+" ago")
	case l.Until != nil:
		p.fact("ends", l.Until.In(now.Location()).Format("15:04:05")+", "+remains(*l, now))
	case l.State != healed:
		p.fact("ends", remains(*l, now))
	}
	p.fact("with", paramList(l.Params))
	if l.Mode != "" {
		p.fact("mode", l.Mode)
	}
	if l.Seed != 0 {
		p.fact("seed", fmt.Sprint(l.Seed))
	}
	p.fact("note", l.Note)
	if l.Seq != 0 {
		p.lines = append(p.lines, th.Header.Render("event")+"      "+th.Link.Render(fmt.Sprintf("#%d", l.Seq))+th.Dim.Render("  enter shows its chain"))
	}
	p.gap()
	p.add(th.Header, 0, shorten.Count(len(l.Targets), "target"))
	for _, t := range l.Targets {
		p.lines = append(p.lines, leaseStyle(th, t.State).Render(leaseState(t.State))+" "+th.Text.Render(text.Clean(t.Kind+" "+target(t))))
		p.add(th.Dim, 2, t.Does)
		p.add(th.Bad, 2, t.Error)
	}
	return p.lines
}

// paramList formats the parameters of a fault: name=value, by name.
func paramList(params map[string]string) string {
	all := make([]string, 0, len(params))
	for name, value := range params {
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// nameWidth is the width of the longest fault names.
const nameWidth = 31

func kindColumns() []table.Column {
	return []table.Column{
		{Title: "FAULT", Width: nameWidth},
		{Title: "HAPPENS TO", Width: 10, Drop: 1},
		{Title: "WHAT", Width: 20, Flex: 1, Drop: 2},
	}
}

// kindRows returns the kinds that match a filter, under the names of their themes, and their number.
func (s *Screen) kindRows() (rows []table.Row, n int) {
	themed := ""
	for i := range s.kinds {
		k := &s.kinds[i]
		if s.filter != "" && !text.Found(s.filter, kindWords(k)...) {
			continue
		}
		if k.Theme != themed {
			themed = k.Theme
			heading := text.Clean(themed)
			rows = append(rows, table.Row{Key: "theme " + themed, Fixed: true, Cells: func() []table.Cell {
				return []table.Cell{{Text: heading, Style: s.theme.Group}}
			}})
		}
		n++
		rows = append(rows, table.Row{Key: k.Name, Cells: func() []table.Cell {
			if k.Unsupported != "" {
				return []table.Cell{
					{Text: text.Clean(k.Name), Style: s.theme.Dim},
					{Text: text.Clean(k.Object), Style: s.theme.Dim},
					{Text: theme.GlyphOff + " unsupported here: " + text.Clean(k.Unsupported), Style: s.theme.Dim},
				}
			}
			return []table.Cell{
				{Text: text.Clean(k.Name), Style: s.theme.Text},
				{Text: text.Clean(k.Object), Style: s.theme.Dim},
				{Text: text.Clean(k.Short), Style: s.theme.Dim},
			}
		}})
	}
	return rows, n
}

func kindWords(k *api.FaultKind) []string {
	words := []string{k.Name, k.Theme, k.Object, k.Short, strings.Join(k.Reported, " ")}
	for _, p := range k.Params {
		words = append(words, p.Name)
	}
	return words
}

// kind returns the kind with the cursor, or nil.
func (s *Screen) kind() *api.FaultKind {
	name, ok := s.catalogue.Key()
	if !ok {
		return nil
	}
	for i := range s.kinds {
		if s.kinds[i].Name == name {
			return &s.kinds[i]
		}
	}
	return nil
}
