package volumes

import (
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/glance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
)

// below is how many lines the chain takes below the table: what a few volumes leave, up to so many; none where there is no
// room for it.
func (s *Screen) below() int {
	rest := s.height - 1
	if rest < 16 {
		return 0
	}
	return min(max(11, rest/2, rest-1-len(s.shown)), 18)
}

// SetSize gives it its place.
func (s *Screen) SetSize(width, height int) {
	s.width, s.height = width, height
	s.table.SetColumns(columns(width))
	s.table.SetSize(width, max(0, height-1-s.below()))
}

// View is the screen.
func (s *Screen) View() string {
	if s.width <= 0 || s.height <= 0 {
		return ""
	}
	view := text.Fit(s.title(), s.width)
	if s.height > 1 {
		view += "\n" + s.table.View()
	}
	if n := s.below(); n > 0 {
		view += "\n" + text.Block(s.chainLines(n), s.width, n)
	}
	return view
}

// title counts the volumes, what is in the way of things first.
func (s *Screen) title() string {
	th := s.theme
	counts := map[api.VolumeState]int{}
	for _, v := range s.all {
		counts[v.State]++
	}
	word := " volumes"
	if len(s.all) == 1 {
		word = " volume"
	}
	parts := []string{th.Text.Render(fmt.Sprint(len(s.all)) + word)}
	for _, state := range []api.VolumeState{
		api.VolumeLost, api.VolumeBlocked, api.VolumeOrphaned, api.VolumePending, api.VolumeAttaching, api.VolumeDetaching,
		api.VolumeInUse, api.VolumeAttached, api.VolumeDetached, api.VolumeReleased,
	} {
		if n := counts[state]; n > 0 {
			m := glance.Volume(state)
			parts = append(parts, m.Style(th).Render(fmt.Sprintf("%s %d %s", m.Glyph, n, m.Word)))
		}
	}
	if s.filter != "" {
		parts = append(parts, th.Match.Render("filter “"+text.Clean(s.filter)+"”")+th.Dim.Render(fmt.Sprintf(" %d of %d", len(s.shown), len(s.all))))
	}
	if s.byState {
		parts = append(parts, th.Dim.Render("sorted by state"))
	}
	return strings.Join(parts, th.Dim.Render(" · "))
}
