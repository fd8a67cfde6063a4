package api

import (
	"context"
	"testing"

	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/pbm"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/faulttest"
)

// ends returns a trial in which a service fails for everybody, and nothing else does. Without want there is no answer.
func ends(ask func(context.Context, *caller) error, want func(error) bool) func(*testing.T, *faulttest.World) func(*testing.T) {
	return func(t *testing.T, w *faulttest.World) func(*testing.T) {
		c := logged(t, w, "us", agentCSI)
		if err := ask(t.Context(), c); err != nil {
			t.Errorf("before: %v", err)
		}
		t.Cleanup(func() {
			if err := ask(context.WithoutCancel(t.Context()), c); err != nil {
				t.Errorf("healed: %v", err)
			}
		})
		return func(t *testing.T) {
			ctx := t.Context()
			if want == nil {
				ctx, want = soon(t), late
			}
			if err := ask(ctx, c); err == nil || !want(err) {
				t.Errorf("service: %v", err)
			}
			if err := call(t.Context(), w, "us", agentCSI); err != nil {
				t.Errorf("everything else: %v", err)
			}
		}
	}
}

func askCNS(ctx context.Context, c *caller) error {
	client, err := cns.NewClient(ctx, c.Client.Client)
	if err != nil {
		return err
	}
	_, err = client.QueryVolume(ctx, new(cnstypes.CnsQueryFilter))
	return err
}

func askSPBM(ctx context.Context, c *caller) error {
	_, err := pbm.NewClient(ctx, c.Client.Client) // which asks for what there is
	return err
}
