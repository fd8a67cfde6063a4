package smoke

import (
	"context"
	"fmt"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/backoff"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
)

// measure counts the calls of a sandbox that has only just come up: what it took to come up, and what nothing costs.
func (r *run) measure(ctx context.Context, sandbox *scenario.Running, baseline bool) {
	const after = 2 * time.Second // what is said to be ready may have something left to do
	// Nodes are gone through once in it; where there is nothing to compare with a glance will do.
	window := min(pace.Speed(r.o.Speed).Of(pace.CCMNodeStatusUpdate), time.Minute)
	if r.o.Baseline == nil {
		window = min(window, 10*time.Second)
	}
	r.o.Busy(fmt.Sprintf("counts calls to the vCenters, for %s in which nothing happens", window))
	defer r.o.Busy("")
	if backoff.Sleep(ctx, after) != nil {
		return
	}
	start, err := sandbox.Calls(ctx)
	if err != nil || backoff.Sleep(ctx, window) != nil {
		return
	}
	now, err := sandbox.Calls(ctx)
	if err != nil {
		return
	}
	r.set(phaseStart, baseline, countsOf(start))
	r.set(phaseSteady, baseline, perMinute(countsOf(since(start, now)), window))
}
