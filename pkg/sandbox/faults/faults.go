// Package faults answers the requests of the control API that inject faults and heal them, with the fault engine of a sandbox.
//
// Floor 3.
package faults

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/control"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
)

// healTimeout bounds the healing when the sandbox stops. Faults that are active after it end with the sandbox.
const healTimeout = 20 * time.Second

// Faults is the fault engine of a sandbox. Set its fields before [Faults.Start]. Its methods may be called from any goroutine.
type Faults struct {
	Source vcenters.Source
	// Refuse returns why the ground cannot have a kind of fault, "" when it can, and a command to try.
	Refuse func(*fault.Kind) (why, try string)

	mu      sync.Mutex
	engine  *fault.Engine
	journal *os.File
}

// Start makes the engine, with its journal at path.
func (f *Faults) Start(path string, o fault.Options) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.journal, err = fault.OpenJournal(path); err != nil {
		return err
	}
	o.Journal = f.journal
	f.engine = fault.NewEngine(o)
	return nil
}

// Engine returns the engine, nil before [Faults.Start].
func (f *Faults) Engine() *fault.Engine {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.engine
}

// Lease returns a lease by its ID.
func (f *Faults) Lease(id string) (fault.Lease, bool) {
	if e := f.Engine(); e != nil {
		return e.Lease(id)
	}
	return fault.Lease{}, false
}

// Rows lists the leases; none before [Faults.Start].
func (f *Faults) Rows() []api.Lease {
	if e := f.Engine(); e != nil {
		return leaseRows(e.Leases())
	}
	return nil
}

// End heals all faults. It must be called before anything stops that healing needs.
func (f *Faults) End(ctx context.Context) error {
	e := f.Engine()
	if e == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, healTimeout)
	defer cancel()
	return e.Close(ctx)
}

// Close closes the journal and the engine.
func (f *Faults) Close(ctx context.Context) error {
	e := f.Engine()
	if e == nil {
		return nil
	}
	_ = e.Close(ctx) // reported when it was closed first
	return f.journal.Close()
}

// Register adds the handlers of the control API.
func (f *Faults) Register(mux *http.ServeMux) {
	mux.Handle("POST /v1/faults", control.Request(f.Inject))
	mux.Handle("POST /v1/heal", control.Request(f.Heal))
	mux.Handle("GET /v1/leases", control.Answer(f.Leases))
	mux.Handle("GET /v1/fault-kinds", control.Answer(f.Kinds))
}

// Lacks returns why no fault of a kind can be injected in this sandbox, "" when it can.
func (f *Faults) Lacks(k *fault.Kind) string {
	why, _ := f.Refuse(k)
	return cmp.Or(why, f.Source.Lacks(k))
}

// allow returns the error of a request that is refused or must be confirmed.
func (f *Faults) allow(ctx context.Context, e *fault.Engine, r fault.Request, confirmed bool) error {
	if k, err := fault.Find(catalogue.Kinds(), r.Kind); err == nil {
		if why, try := f.Refuse(k); why != "" {
			return &api.Error{Code: "unsupported", Message: k.Name + ": " + why, Try: try}
		}
	}
	return f.Source.AllowFault(ctx, e, r, confirmed)
}

// Kinds lists the kinds of faults, by theme.
func (f *Faults) Kinds(context.Context) ([]api.FaultKind, error) {
	kinds := []api.FaultKind{}
	for _, theme := range catalogue.Themes() {
		for _, k := range theme.Kinds {
			row := faultKind(theme.Name, k)
			row.Unsupported = f.Lacks(k)
			kinds = append(kinds, row)
		}
	}
	return kinds, nil
}

// Inject injects a fault. It is completed also when the client leaves.
func (f *Faults) Inject(ctx context.Context, r api.InjectRequest) (api.Lease, error) {
	e := f.Engine()
	if e == nil {
		return api.Lease{}, api.NotBuilt()
	}
	request := fault.Request{
		Kind: r.Fault, On: fault.Selector(r.On), Params: r.Params, Mode: r.Mode, For: time.Duration(r.For), Seed: r.Seed,
	}
	if f.Source.Confirms() && request.Seed == 0 { // the request that is confirmed has the same targets
		request.Seed = uint64(rand.Uint32()) + 1
	}
	var l fault.Lease
	err := f.allow(ctx, e, request, r.Confirmed || r.DryRun)
	switch {
	case err != nil:
	case r.DryRun:
		l, err = e.Plan(ctx, request)
	default:
		l, err = e.Inject(context.WithoutCancel(ctx), request)
	}
	return LeaseRow(l), faultError(err)
}

// Heal heals leases.
func (f *Faults) Heal(ctx context.Context, r api.HealRequest) ([]api.Lease, error) {
	e := f.Engine()
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

// Leases lists the leases.
func (f *Faults) Leases(context.Context) ([]api.Lease, error) {
	e := f.Engine()
	if e == nil {
		return nil, api.NotBuilt()
	}
	return leaseRows(e.Leases()), nil
}

// faultError turns an error of the engine into one of the API.
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
		rows[i] = LeaseRow(l)
	}
	return rows
}

// LeaseRow returns the row of a lease.
func LeaseRow(l fault.Lease) api.Lease {
	row := api.Lease{
		ID: l.ID, Fault: l.Kind, State: string(l.State), Targets: make([]api.LeaseTarget, len(l.Targets)), Params: l.Params,
		Mode: l.Mode, Seed: l.Seed, Since: l.Since, Until: moment(l.Until), Ended: moment(l.Ended), Seq: l.Seq, Note: l.Note,
	}
	for i, t := range l.Targets {
		row.Targets[i] = api.LeaseTarget{
			Kind: string(t.Target.Kind), VCenter: t.Target.VCenter, Name: t.Target.Name, Does: t.Effect, State: string(t.State), Error: t.Error,
		}
	}
	return row
}

// moment returns nil for the zero time.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func faultKind(theme string, k *fault.Kind) api.FaultKind {
	row := api.FaultKind{
		Name: k.Name, Theme: theme, Short: k.Short, Long: k.Long, Object: string(k.Object), Momentary: k.Momentary, Reported: k.Reported,
	}
	for _, n := range k.Needs {
		row.Needs = append(row.Needs, n.String())
	}
	for _, p := range k.Params {
		row.Params = append(row.Params, api.FaultParam{
			Name: p.Name, Short: p.Short, Type: string(p.Type), Default: p.Default, Required: p.Required, Choices: p.Choices,
		})
	}
	return row
}
