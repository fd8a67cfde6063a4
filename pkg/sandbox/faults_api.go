package sandbox

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// inject answers a request to break something. Once begun it is finished, whether or not anybody waits for the answer.
func (s *Sandbox) inject(ctx context.Context, r api.InjectRequest) (api.Lease, error) {
	e := s.engine()
	if e == nil {
		return api.Lease{}, api.NotBuilt()
	}
	request := fault.Request{
		Kind: r.Fault, On: fault.Selector(r.On), Params: r.Params, Mode: r.Mode, For: time.Duration(r.For), Seed: r.Seed,
	}
	if s.real != nil && request.Seed == 0 { // what is judged, and what is done, is the same draw
		request.Seed = uint64(rand.Uint32()) + 1
	}
	var l fault.Lease
	err := s.mayInject(ctx, e, request, r.Confirmed || r.DryRun)
	switch {
	case err != nil:
	case r.DryRun:
		l, err = e.Plan(ctx, request)
	default:
		l, err = e.Inject(context.WithoutCancel(ctx), request)
	}
	return leaseRow(l), faultError(err)
}

// heal answers a request to put things right.
func (s *Sandbox) heal(ctx context.Context, r api.HealRequest) ([]api.Lease, error) {
	e := s.engine()
	if e == nil {
		return nil, api.NotBuilt()
	}
	ctx = context.WithoutCancel(ctx)
	var list []fault.Lease
	var err error
	switch {
	case len(r.IDs) > 0 && r.All:
		return nil, &api.Error{Code: "invalid", Message: "heal: either leases or all of them, not both"}
	case r.All:
		list, err = e.HealAll(ctx)
	case len(r.IDs) == 0:
		return nil, &api.Error{Code: "invalid", Message: "heal: no lease is named", Try: "vsphere-sandbox fault leases"}
	default:
		list, err = e.Heal(ctx, r.IDs...)
	}
	return leaseRows(list), faultError(err)
}

// leaseList lists the leases.
func (s *Sandbox) leaseList(context.Context) (any, error) {
	e := s.engine()
	if e == nil {
		return nil, api.NotBuilt()
	}
	return leaseRows(e.Leases()), nil
}

// faultError turns an error of the engine into an answer.
func faultError(err error) error {
	if err == nil {
		return nil
	}
	if answer := (*api.Error)(nil); errors.As(err, &answer) {
		return answer
	}
	if r := (*fault.Refusal)(nil); errors.As(err, &r) {
		return &api.Error{Code: r.Code, Message: r.Message, Try: r.Try}
	}
	if errors.Is(err, vcenter.ErrNotConnected) {
		return &api.Error{Code: "unavailable", Message: err.Error()}
	}
	return &api.Error{Code: "conflict", Message: err.Error(), Try: "vsphere-sandbox events --plane sandbox"}
}

func leaseRows(list []fault.Lease) []api.Lease {
	rows := make([]api.Lease, len(list))
	for i, l := range list {
		rows[i] = leaseRow(l)
	}
	return rows
}

func leaseRow(l fault.Lease) api.Lease {
	row := api.Lease{
		ID: l.ID, Fault: l.Kind, State: string(l.State), Targets: make([]api.LeaseTarget, len(l.Targets)), Params: l.Params,
		Mode: l.Mode, Seed: l.Seed, Since: l.Since, Until: moment(l.Until), Ended: moment(l.Ended), Seq: l.Seq, Note: l.Note,
	}
	for i, t := range l.Targets {
		row.Targets[i] = api.LeaseTarget{
			Kind: string(t.Target.Kind), VCenter: t.Target.VCenter, Name: t.Target.Name, Does: t.Does, State: string(t.State), Error: t.Error,
		}
	}
	return row
}

// moment is nil for no time.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
