package intent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Intent is a request of the user. This package has all its types.
type Intent interface{ intent() }

// Screen is one of the screens.
type Screen int

// The screens, in the order of their keys 1 to 7.
const (
	Overview Screen = iota
	Timeline
	Volumes
	Faults
	Calls
	Scenario
	Services
	Screens // how many there are
)

// String returns the name of the screen, for its tab and the prompt.
func (s Screen) String() string {
	return [...]string{"Overview", "Timeline", "Volumes", "Faults", "Calls", "Scenario", "Services", ""}[min(max(s, 0), Screens)]
}

// The intents that navigate.
type (
	// Go goes to a screen.
	Go struct{ Screen Screen }
	// Back closes the top panel, or removes the filter.
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
	// Exchange shows the newest call of a vCenter, a client and a method with what was sent and answered; "" is any.
	Exchange struct{ VCenter, Client, Method string }
	// Power asks what to do to a VM.
	Power struct{ api.Subject }
	// Snapshots asks whether to save a snapshot, or to restore one.
	Snapshots struct{}
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

func (Go) intent()        {}
func (Back) intent()      {}
func (Focus) intent()     {}
func (Chain) intent()     {}
func (Details) intent()   {}
func (Why) intent()       {}
func (Logs) intent()      {}
func (Exchange) intent()  {}
func (Power) intent()     {}
func (Snapshots) intent() {}
func (Break) intent()     {}
func (Fill) intent()      {}
func (Filter) intent()    {}
func (Help) intent()      {}
func (Prompt) intent()    {}
func (ReadOnly) intent()  {}
func (Say) intent()       {}
func (Quit) intent()      {}

// command is the parts of a command line: the words of the command, its objects, and its flags.
type command struct{ words, names, flags []string }

// args joins the parts. Names follow the command; those that look like flags come last.
func (c command) args() []string {
	if slices.ContainsFunc(c.names, func(n string) bool { return strings.HasPrefix(n, "-") }) {
		return slices.Concat(c.words, c.flags, []string{"--"}, c.names)
	}
	return slices.Concat(c.words, c.names, c.flags)
}

// flag returns a flag with its value, or nothing for an empty value.
func flag(name, value string) []string {
	if value == "" {
		return nil
	}
	return []string{"--" + name, value}
}

// span formats a duration as in flags: 1m30s, 5m, 250ms; "" for 0.
func span(d time.Duration) string {
	if d == 0 {
		return ""
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Plan requests the plan of an injection. It changes nothing, so it is no [Action], and read-only mode allows it. The answer goes
// to the form.
type Plan struct {
	api.InjectRequest
	// Ask identifies the plan among those of the form: answers may arrive in another order.
	Ask int
}

func (Plan) intent() {}

// Action is an intent that changes something in a sandbox.
type Action interface {
	Intent
	// Args returns the equivalent command line, without the names of the program and of the sandbox.
	Args() []string
	// Danger returns the question to ask before: "Destroy VM worker-1? Its disks go with it."; "" if it needs none.
	Danger() string
	// Do carries it out, and describes the result.
	Do(ctx context.Context, s Sandbox) (string, error)
}

// Sandbox carries out actions: an [api.Client].
type Sandbox interface {
	VM(ctx context.Context, r api.VMRequest) (api.Done, error)
	Gate(ctx context.Context, r api.GateRequest) (api.Done, error)
	Volume(ctx context.Context, r api.VolumeRequest) (api.Done, error)
	OutOfService(ctx context.Context, r api.OutOfServiceRequest) (api.Done, error)
	Inject(ctx context.Context, r api.InjectRequest) (api.Lease, error)
	Heal(ctx context.Context, r api.HealRequest) ([]api.Lease, error)
	RestartCCM(ctx context.Context) (api.Done, error)
	SaveSnapshot(ctx context.Context, r api.SaveRequest) (api.Snapshot, error)
	RestoreSnapshot(ctx context.Context, r api.RestoreRequest) (api.Snapshot, error)
}

// The actions.
type (
	// VM changes a VM.
	VM struct{ api.VMRequest }
	// Gate sets how a vCenter answers clients.
	Gate struct{ api.GateRequest }
	// Volume changes a volume in vSphere.
	Volume struct{ api.VolumeRequest }
	// OutOfService taints a node, or removes the taint.
	OutOfService struct{ api.OutOfServiceRequest }
	// Inject injects a fault.
	Inject struct{ api.InjectRequest }
	// Heal heals faults.
	Heal struct{ api.HealRequest }
	// RestartCCM restarts the cloud controller manager.
	RestartCCM struct{}
	// SaveSnapshot saves the state of the sandbox.
	SaveSnapshot struct{ api.SaveRequest }
	// RestoreSnapshot gives the sandbox the state of a snapshot.
	RestoreSnapshot struct{ Name string }
)

func (VM) intent()           {}
func (Gate) intent()         {}
func (Volume) intent()       {}
func (OutOfService) intent() {}
func (Inject) intent()       {}
func (Heal) intent()         {}
func (RestartCCM) intent()   {}

func (SaveSnapshot) intent()    {}
func (RestoreSnapshot) intent() {}

// Line returns the command line of a, to paste into a shell: program, name of the sandbox ("" leaves the choice to the program),
// and arguments, quoted.
func Line(a Action, program, name string) string {
	words := append([]string{program}, flag("name", name)...)
	return Quote(append(words, a.Args()...)...)
}

// Quote quotes words so that a POSIX shell, and the prompt, read them unchanged.
func Quote(words ...string) string { return shellescape.QuoteCommand(words) }

// Unconfirmed is the error of an action that would change VMs of real vCenters, and was not done.
type Unconfirmed struct {
	// Ask is the confirmed action: its Danger is the sandbox's description of the effect, and of how it is undone.
	Ask Action
	// Rest are other errors; may be nil.
	Rest error
}

// Error returns the question, and the other errors.
func (u *Unconfirmed) Error() string {
	if u.Rest != nil {
		return u.Ask.Danger() + " " + u.Rest.Error()
	}
	return u.Ask.Danger()
}

// Unwrap returns the other errors.
func (u *Unconfirmed) Unwrap() error { return u.Rest }

// confirmed is an action after the question.
type confirmed struct {
	Action
	said []string // by the sandbox
}

// Danger implements [Action].
func (c confirmed) Danger() string { return strings.Join(c.said, ". ") + ". Do it?" }

// asking turns the answer to an unconfirmed request into an Unconfirmed; other errors stay. confirm returns the same action,
// confirmed.
func asking(err error, confirm func(*api.Error) Action) error {
	if answer := api.Unconfirmed(err); answer != nil {
		return &Unconfirmed{Ask: confirmed{confirm(answer), []string{answer.Message}}}
	}
	return err
}

// gather collects the questions about several objects.
type gather struct {
	actions []Named
	said    []string
}

// take adds an error, if it asks about an action on one object.
func (g *gather) take(err error) bool {
	var u *Unconfirmed
	if !errors.As(err, &u) {
		return false
	}
	c, ok := u.Ask.(confirmed)
	if !ok {
		return false
	}
	one, ok := c.Action.(Named)
	if ok {
		g.actions, g.said = append(g.actions, one), append(g.said, c.said...)
	}
	return ok
}

// ask returns the error that asks about all of them; rest if there is no question.
func (g *gather) ask(rest error) error {
	switch len(g.actions) {
	case 0:
		return rest
	case 1:
		return &Unconfirmed{Ask: confirmed{g.actions[0], g.said}, Rest: rest}
	}
	return &Unconfirmed{Ask: confirmed{Several{Actions: g.actions}, g.said}, Rest: rest}
}

// Named is an action on one object whose command line takes several.
type Named interface {
	Action
	command() command
}

// Several does the same to several objects, one after the other, as the command line does; after an error it continues with the
// others. Make it with [Each].
type Several struct{ Actions []Named }

// Each does the same to each name; for a single one it is that action itself. There must be a name.
func Each(names []string, do func(name string) Named) Action {
	if len(names) == 1 {
		return do(names[0])
	}
	s := Several{Actions: make([]Named, len(names))}
	for i, name := range names {
		s.Actions[i] = do(name)
	}
	return s
}

func (Several) intent() {}

// Args implements [Action].
func (s Several) Args() []string {
	all := s.Actions[0].command()
	all.names = s.names()
	return all.args()
}

func (s Several) names() (names []string) {
	for _, a := range s.Actions {
		names = append(names, a.command().names...)
	}
	return names
}

// Danger implements [Action]: several objects always need a question.
func (s Several) Danger() string {
	verb := strings.Join(s.Actions[0].command().words, " ")
	question := fmt.Sprintf("%s, %d at once: %s?", verb, len(s.Actions), shorten.List(s.names(), 3))
	if s.Actions[0].Danger() != "" {
		question += " It may cost data."
	}
	return question
}

// Do implements [Action].
func (s Several) Do(ctx context.Context, on Sandbox) (string, error) {
	var done []string
	var errs []error
	var open gather
	for _, a := range s.Actions {
		said, err := a.Do(ctx, on)
		if ctx.Err() != nil {
			return strings.Join(done, "; "), ctx.Err()
		}
		if open.take(err) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		done = append(done, said)
	}
	if len(errs) == 0 {
		return strings.Join(done, "; "), open.ask(nil)
	}
	err := errs[0]
	for _, e := range errs[1:] {
		err = fmt.Errorf("%w; %w", err, e)
	}
	if len(done) > 0 {
		err = fmt.Errorf("%d of %d done; %w", len(done), len(s.Actions), err)
	}
	return strings.Join(done, "; "), open.ask(err)
}

// DefaultDelay is the default of "vcenter slow".
const DefaultDelay = 250 * time.Millisecond

// Args implements [Action].
func (a Gate) Args() []string { return a.command().args() }

func (a Gate) command() command {
	verb := a.Mode
	if verb == "hung" {
		verb = "hang"
	}
	return command{words: []string{"vcenter", verb}, names: []string{a.VCenter}, flags: flag("delay", span(a.delay()))}
}

// delay returns the delay for the mode.
func (a Gate) delay() time.Duration {
	switch {
	case a.Mode != "slow":
		return 0
	case a.Delay == 0:
		return DefaultDelay
	}
	return time.Duration(a.Delay)
}

// Danger implements [Action]: "up" undoes all of them.
func (Gate) Danger() string { return "" }

// Do implements [Action].
func (a Gate) Do(ctx context.Context, s Sandbox) (string, error) {
	r := a.GateRequest
	r.Delay = api.Duration(a.delay())
	done, err := s.Gate(ctx, r)
	return done.Message, err
}
