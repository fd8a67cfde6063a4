package smoke

import (
	"context"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// exitAtLast has the check of the exit in the report; on a sandbox of its own when there was none that was fit for it.
func (r *run) exitAtLast(ctx context.Context) {
	if r.ended != nil {
		r.add(*r.ended, knownExits())
		return
	}
	var s result.Scenario
	sandbox, err := r.bootFor(ctx, r.measured)
	if err != nil {
		c := r.begin(exitCheck, "asked to end (SIGTERM), it ends in order", 1)
		c.step(ctx, "note", "a sandbox", func(context.Context) (string, error) { return "", err })
		s = c.end()
	} else {
		s = r.checkExit(ctx, sandbox)
		if sandbox.Stop != nil {
			_ = sandbox.Stop(context.WithoutCancel(ctx)) // how that goes is no part of any result
		}
	}
	r.add(s, knownExits())
}

func (r *run) bootFor(ctx context.Context, need scenario.Requirements) (*scenario.Running, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	began := time.Now()
	sandbox, err := r.o.Boot(ctx, r.o.CCM, need)
	boot := result.Boot{Topology: need.Topology.Metadata.Name, Began: began, Took: time.Since(began)}
	if err != nil {
		boot.Error = err.Error()
	} else {
		boot.Name = sandbox.Name
	}
	r.report.Suite.Boots = append(r.report.Suite.Boots, boot)
	return sandbox, err
}
