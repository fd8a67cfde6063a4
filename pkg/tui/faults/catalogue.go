package faults

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/table"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

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
