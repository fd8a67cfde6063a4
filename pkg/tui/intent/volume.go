package intent

import (
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Args implements [Action].
func (a Volume) Args() []string { return a.command().args() }

func (a Volume) command() command {
	c := command{words: []string{"volume", string(a.Action)}, names: []string{a.Volume}}
	if a.Action == api.RelocateVolume {
		c.flags = flag("to", a.Datastore)
	}
	if a.Confirmed {
		c.flags = append(c.flags, "--yes")
	}
	return c
}

// Danger implements [Action].
func (a Volume) Danger() string {
	if a.Action == api.DetachVolume {
		return "Detach volume " + a.Volume + " behind Kubernetes' back? A pod that writes to it loses it."
	}
	return ""
}

// Do implements [Action].
func (a Volume) Do(ctx context.Context, s Sandbox) (string, error) {
	r := a.VolumeRequest
	if r.Action != api.RelocateVolume {
		r.Datastore = ""
	}
	done, err := s.Volume(ctx, r)
	return done.Message, asking(err, func(*api.Error) Action {
		a.Confirmed = true
		return a
	})
}
