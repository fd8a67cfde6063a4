package intent

import (
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Args implements [Action].
func (a VM) Args() []string { return a.command().args() }

func (a VM) command() command {
	c := command{words: []string{"vm", string(a.Action)}, names: []string{a.VM}, flags: flag("vcenter", a.VCenter)}
	switch a.Action {
	case api.Move:
		c.flags = append(c.flags, flag("to", a.Host)...)
	case api.Destroy:
		c.flags = append(c.flags, "--yes") // the UI has asked
		return c
	}
	if a.Confirmed {
		c.flags = append(c.flags, "--yes")
	}
	return c
}

// Danger implements [Action].
func (a VM) Danger() string {
	if a.Action == api.Destroy {
		name := a.VM
		if a.VCenter != "" { // which may have namesakes elsewhere
			name = a.VCenter + "/" + name
		}
		return "Destroy VM " + name + "? Its disks go with it, and its node is removed. This cannot be undone."
	}
	return ""
}

// Do implements [Action].
func (a VM) Do(ctx context.Context, s Sandbox) (string, error) {
	r := a.VMRequest
	if r.Action != api.Move {
		r.Host = ""
	}
	r.Confirmed = r.Confirmed || r.Action == api.Destroy // the UI has asked
	done, err := s.VM(ctx, r)
	return done.Message, asking(err, func(*api.Error) Action {
		a.Confirmed = true
		return a
	})
}
