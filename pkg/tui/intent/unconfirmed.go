package intent

import (
	"errors"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Unconfirmed is the error of an action that would change VMs of real vCenters. Nothing of what it asks about was done.
type Unconfirmed struct {
	// Ask is that, confirmed: its Danger is what the sandbox says it does, and how that is taken back.
	Ask Action
	// Rest is what went wrong beside it; nil for nothing.
	Rest error
}

// Error is the question, and what else went wrong.
func (u *Unconfirmed) Error() string {
	if u.Rest != nil {
		return u.Ask.Danger() + " " + u.Rest.Error()
	}
	return u.Ask.Danger()
}

// Unwrap returns what else went wrong.
func (u *Unconfirmed) Unwrap() error { return u.Rest }

// confirmed is an action that was asked about.
type confirmed struct {
	Action
	said []string // by the sandbox
}

// Danger implements [Action].
func (c confirmed) Danger() string { return strings.Join(c.said, ". ") + ". Do it?" }

// asking makes an Unconfirmed of the answer to a request that was not confirmed; every other error is as it was. confirm is
// the same action, confirmed.
func asking(err error, confirm func(*api.Error) Action) error {
	if told := api.Unconfirmed(err); told != nil {
		return &Unconfirmed{Ask: confirmed{confirm(told), []string{told.Message}}}
	}
	return err
}

// gather is what is asked about several things, in one.
type gather struct {
	actions []Named
	said    []string
}

// take takes in an error, if it asks about an action that is done to one thing.
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

// ask is the error that asks about all of them; rest if there is nothing to ask.
func (g *gather) ask(rest error) error {
	switch len(g.actions) {
	case 0:
		return rest
	case 1:
		return &Unconfirmed{Ask: confirmed{g.actions[0], g.said}, Rest: rest}
	}
	return &Unconfirmed{Ask: confirmed{Several{Actions: g.actions}, g.said}, Rest: rest}
}
