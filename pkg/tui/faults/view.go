package faults

import (
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
)

// layout is where the parts of the screen are: what has no height or no width is not shown.
type layout struct {
	force     int // lines of the leases, with their title
	catalogue int // lines of the rest, with its title
	list      int // cells of the list of the catalogue
	about     int // cells of the description of the selected one
}

// lowest is the height below which only one of the parts is shown, the one with the cursor.
const lowest = 12

// divide divides a screen between n leases and the catalogue.
func divide(width, height, n int, at part) (p layout) {
	switch {
	case height < lowest && at == inForce:
		return layout{force: height}
	case height < lowest:
		p.catalogue = height
	default:
		p.force = min(max(n, 1)+2, max(4, height*2/5))
		p.catalogue = height - p.force
	}
	if p.list = width * 55 / 100; p.list < nameWidth+32 { // no room for the description beside the list
		p.list = nameWidth + 11
	}
	if p.about = width - p.list - 3; p.about < 24 {
		p.list, p.about = width, 0
	}
	return p
}

// arrange lays out the parts.
func (s *Screen) arrange() {
	s.place = divide(s.width, s.height, s.force.Len(), s.at)
	s.force.SetSize(s.width, max(0, s.place.force-1))
	s.catalogue.SetSize(s.place.list, max(0, s.place.catalogue-1))
}

// View implements [panel.Panel].
func (s *Screen) View() string {
	if s.width <= 0 || s.height <= 0 {
		return ""
	}
	var lines []string
	if s.place.force > 0 {
		lines = append(lines, s.title(inForce, "In force", s.summary()))
		lines = append(lines, linesOf(s.force.View())...)
	}
	if n := s.place.catalogue; n > 0 {
		lines = append(lines, s.title(catalogue, "Catalogue", s.tally()))
		list := linesOf(s.catalogue.View())
		about := s.seen(n - 1)
		border := s.theme.Border.Render("│")
		for i, l := range list {
			if s.place.about > 0 {
				l += " " + border + " " + text.Fit(about[i], s.place.about)
			}
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n") // each is as wide as it has to be: measuring them again costs a third of a frame
}

func linesOf(view string) []string {
	if view == "" {
		return nil
	}
	return strings.Split(view, "\n")
}

// tally returns the size of the catalogue.
func (s *Screen) tally() string {
	if s.filter != "" {
		return fmt.Sprintf("%d of %d faults", s.kindsSeen, len(s.kinds))
	}
	return shorten.Count(len(s.kinds), "fault")
}

// seen returns the visible part of the description, exactly so many lines.
func (s *Screen) seen(height int) []string {
	lines := make([]string, height)
	if s.place.about <= 0 || height == 0 {
		return lines
	}
	all := s.about(s.place.about)
	s.scroll = min(s.scroll, max(0, len(all)-height))
	shown := all[s.scroll:]
	copy(lines, shown)
	if len(shown) > height {
		lines[height-1] = s.theme.Dim.Render(fmt.Sprintf("… %d more lines: J K", len(shown)-height+1))
	}
	return lines
}
