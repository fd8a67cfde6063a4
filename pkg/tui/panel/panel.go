package panel

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// Panel is a screen or an overlay. It is used by the root model alone, from one goroutine: it does no I/O, starts
// nothing, and reads no clock but that of the state.
type Panel interface {
	// SetSize gives it its place, in cells.
	SetSize(width, height int)
	// SetTheme gives it its looks.
	SetTheme(t *theme.Theme)
	// SetState sets the state, after it has changed or time has passed. It is always the same state; a panel may cache what it
	// derives while [fold.State.Version] stays the same.
	SetState(s *fold.State)
	// Handle handles a key, and reports whether it did. The intent is what the root model must do, or nil. Other keys go to the root
	// model.
	Handle(k tea.KeyPressMsg) (intent.Intent, bool)
	// Bindings are the keys that it takes now, for the help; those without effect now are disabled.
	Bindings() []key.Binding
	// View is exactly as many lines as it is high, each exactly as many cells as it is wide.
	View() string
}

// Filterer is a panel whose rows can be filtered. What a filter is matched with is the panel's to choose; it ignores case,
// and all words have to be found.
type Filterer interface {
	SetFilter(text string)
}

// Selector is a panel in which something is selected: what details, why and menus are about.
type Selector interface {
	// Subject is what is selected; ok is false for nothing, or something that is no subject.
	Subject() (s api.Subject, ok bool)
}

// Chooser is a panel in which a subject can be selected from outside.
type Chooser interface {
	// Choose selects the subject, and reports whether it is there.
	Choose(s api.Subject) bool
}

// Clicker is a panel with mouse support: x and y are its cells. A wheel has its lines, positive downwards.
type Clicker interface {
	Click(x, y int) (intent.Intent, bool)
	Wheel(lines int)
}

// Popup is an overlay that says how large it wants to be, within what there is. Others get a usual size.
type Popup interface {
	Size(width, height int) (int, int)
}

// Typist is an overlay in which text is typed: while it is, it gets every key but ctrl+c.
type Typist interface {
	Typing() bool
}

// Writer is a panel of whose keys some change something: those, by their names, are without effect in read-only mode.
type Writer interface {
	Writes() []string
}
