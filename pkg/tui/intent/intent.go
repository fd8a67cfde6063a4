package intent

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"

// Intent is something that somebody wants. The types of this package are all there are.
type Intent interface{ intent() }

// Screen is one of the screens.
type Screen int

// The screens, in the order of their keys 1 to 6.
const (
	Overview Screen = iota
	Timeline
	Volumes
	Faults
	Calls
	Scenario
	Screens // how many there are
)

// String is the name of the screen, as its tab and the prompt have it.
func (s Screen) String() string {
	return [...]string{"Overview", "Timeline", "Volumes", "Faults", "Calls", "Scenario", ""}[min(max(s, 0), Screens)]
}

// The intents that move around.
type (
	// Go goes to a screen.
	Go struct{ Screen Screen }
	// Back closes what is on top, or takes a filter away.
	Back struct{}
	// Focus goes to the overview, or for a volume to the volumes, and selects the subject.
	Focus struct{ api.Subject }
	// Chain goes to the timeline and shows the chain of an event.
	Chain struct{ Seq uint64 }
	// Details shows the subject on both planes.
	Details struct{ api.Subject }
	// Why explains the subject.
	Why struct{ api.Subject }
	// Logs shows the log of a component; "" asks which.
	Logs struct{ Component string }
	// Power asks what to do to a VM.
	Power struct{ api.Subject }
	// Break asks which fault to inject into the subject; the zero value, into anything.
	Break struct{ api.Subject }
	// Fill asks for the parameters and the targets of a fault.
	Fill struct {
		Kind string
		api.Subject
	}
	// Filter sets the filter of the screen.
	Filter struct{ Text string }
	// Help shows all keys.
	Help struct{}
	// Prompt opens the prompt with a beginning of a command.
	Prompt struct{ Text string }
	// ReadOnly turns read-only mode on or off.
	ReadOnly struct{}
	// Say shows a line at the foot of the screen for a while.
	Say struct {
		Text string
		Bad  bool
	}
	// Quit leaves the UI.
	Quit struct{}
)

func (Go) intent()       {}
func (Back) intent()     {}
func (Focus) intent()    {}
func (Chain) intent()    {}
func (Details) intent()  {}
func (Why) intent()      {}
func (Logs) intent()     {}
func (Power) intent()    {}
func (Break) intent()    {}
func (Fill) intent()     {}
func (Filter) intent()   {}
func (Help) intent()     {}
func (Prompt) intent()   {}
func (ReadOnly) intent() {}
func (Say) intent()      {}
func (Quit) intent()     {}
