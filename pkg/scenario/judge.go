package scenario

import (
	"context"
	"errors"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// worst returns the verdict on the steps so far.
func (r *run) worst() result.Verdict {
	all := make([]result.Verdict, len(r.result.Steps))
	for i, s := range r.result.Steps {
		all[i] = s.Verdict
	}
	return result.Worst(all...)
}

// judge gives the verdict.
func (r *run) judge(ctx context.Context) {
	if !r.stopped(ctx) {
		r.catchUp(ctx) // with the last changes
	}
	r.endNevers(func(g *guard) bool {
		g.cut = r.stopped(ctx)
		return true
	})
	r.result.Verdict = r.worst()
	if r.lacks != "" && r.result.Verdict == result.Passed {
		r.result.Verdict = result.Skipped // its subject was not tested
	}
	for _, s := range r.result.Steps {
		if s.Verdict == r.result.Verdict && s.Verdict != result.Passed {
			r.result.Message = fmt.Sprintf("%s %s: %s", s.Action, s.Text, s.Message)
			break
		}
	}
	switch {
	case ctx.Err() != nil && r.result.Verdict != result.Failed:
		r.result.Verdict, r.result.Message = result.Errored, "interrupted"
	case r.stopped(ctx) && r.result.Verdict != result.Failed:
		r.result.Verdict = result.Errored
		if r.session.err != nil && !errors.Is(r.session.err, context.Canceled) {
			r.result.Message = r.session.err.Error()
		}
	}
}

// keep records the state at the verdict.
func (r *run) keep(ctx context.Context) {
	r.result.Calls = callsSince(r.session.callsNow(context.WithoutCancel(ctx)), r.callsBefore)
	r.session.with(func(v *expect.View) {
		w := v.World
		r.result.World = result.World{
			Nodes: world.Values[api.Node](w, world.Node), VMs: world.Values[api.VM](w, world.VM), Hosts: world.Values[api.Host](w, world.Host),
			VCenters: world.Values[api.VCenter](w, world.VCenter), Components: world.Values[api.Component](w, world.Component),
			Volumes: world.Values[api.Volume](w, world.Volume), Attachments: world.Values[api.Attachment](w, world.Attachment),
			Leases: world.Values[api.Lease](w, world.Lease),
		}
	})
}
