package scenario

import (
	"context"
	"errors"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/confirm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
)

// allowed is a sandbox that is up, for scenarios to run on. Where their faults may change VMs of real vCenters, a person
// confirms it once, for all of them.
func (o *runOptions) allowed(ctx context.Context, t *command.Target, status api.Status) (scenario.Sandbox, error) {
	if status.Ground.Real() != api.RealWritable {
		return t.Client, nil
	}
	_, err := confirm.Do(ctx, o.Streams, o.asking, func(consent confirm.Consent) (bool, error) {
		if consent.Given {
			return true, nil
		}
		return false, &api.Error{
			Code: "unconfirmed", Try: "the same with --yes",
			Message: fmt.Sprintf("sandbox %q stands on real vCenters: faults of scenarios change VMs in its write scope, and are taken back when they are healed", t.Name),
		}
	})
	if errors.Is(err, confirm.ErrDeclined) {
		return nil, report.Exit(report.Failure) // it has been told, and nothing was run
	}
	return confirmed{t.Client}, err
}

// confirmed injects what was confirmed beforehand.
type confirmed struct{ *api.Client }

// Inject implements [scenario.Sandbox].
func (c confirmed) Inject(ctx context.Context, r api.InjectRequest) (api.Lease, error) {
	r.Confirmed = true
	return c.Client.Inject(ctx, r)
}
