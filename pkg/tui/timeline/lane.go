package timeline

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// lane is one of those that a timeline has, in the order in which causes run through them.
type lane int

const (
	sandboxLane lane = iota // faults, commands, children
	vsphereLane             // inventories
	driversLane             // the CCM, the CSI driver, and all calls to vCenters
	kubeLane                // objects of the API server
	lanes
)

// String is the lane in a word, as filters have it, too.
func (l lane) String() string { return [...]string{"sandbox", "vsphere", "calls", "kubernetes"}[l] }

// heading is the title of the lane's column.
func (l lane) heading() string {
	return [...]string{"SANDBOX", "VSPHERE", "CCM, CSI, API", "KUBERNETES"}[l]
}

// style is that of what stands in the lane.
func (l lane) style(t *theme.Theme) theme.Style {
	return [...]theme.Style{t.Sandbox, t.VSphere, t.Drivers, t.Kube}[l]
}

// laneOf is where an event stands. What the drivers do is told by several planes, and theirs by its kind.
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

// tag names the lane of an event where it has no column, in three cells.
func tag(e event.Event) string {
	switch l := laneOf(e); l {
	case driversLane:
		return e.Kind[:3]
	default:
		return [...]string{"sbx", "vSp", "api", "k8s"}[l]
	}
}

// level is how loud an event is, in a glyph of one cell and a word.
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

// levelStyle is what a level looks like.
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
