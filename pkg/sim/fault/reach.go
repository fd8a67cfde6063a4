package fault

import (
	"context"

	vmware "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// Reach returns the endpoint of a connected vCenter, accessed as its administrator and past its gate. A SOAP call may last as
// long as a task; without a session its error wraps [vcenter.ErrNotConnected]. Simulated is nil for a real vCenter, and otherwise
// also the front.
func Reach(client *vcenter.Client, simulated *sim.VCenter) Endpoint {
	e := Endpoint{
		Name: client.Name(),
		Sim:  simulated,
		SOAP: func(ctx context.Context, f func(context.Context, *vim25.Client) error) error {
			session, err := client.Session()
			if err != nil {
				return err
			}
			err = f(ctx, session.Vim)
			if !vmware.Is(err, &types.NotAuthenticated{}) {
				return err
			}
			// The session has expired unnoticed. Do opens another one.
			return own(func(keep func(error) error) error {
				return client.Do(ctx, func(ctx context.Context, s *vcenter.Session) error { return keep(f(ctx, s.Vim)) })
			})
		},
		REST: func(ctx context.Context, f func(context.Context, *rest.Client) error) error {
			return own(func(keep func(error) error) error {
				return client.DoREST(ctx, func(ctx context.Context, c *rest.Client) error { return keep(f(ctx, c)) })
			})
		},
	}
	if simulated != nil {
		e.Front = simulated
	}
	return e
}

// own returns the last error passed to keep, unchanged, or else the error of do.
func own(do func(keep func(error) error) error) error {
	var last error
	err := do(func(err error) error {
		last = err
		return err
	})
	if err != nil && last != nil {
		return last
	}
	return err
}
