package sandbox

import (
	"context"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// callsEvery is how often counts of calls are told at most.
const callsEvery = time.Second

// calls counts what every vCenter was asked for, by method and client.
func (s *Sandbox) calls(context.Context) (any, error) {
	if err := s.built(); err != nil {
		return nil, err
	}
	rows := []api.Calls{}
	for _, vc := range s.vcenters {
		for _, st := range vc.Gate().Stats() {
			rows = append(rows, callsRow(vc.Name(), st))
		}
	}
	return rows, nil
}

// followCalls tells of the calls to a vCenter until ctx ends: of the first at once, and then once a second of what was
// called meanwhile. Nothing is done as long as nobody calls.
func (s *Sandbox) followCalls(ctx context.Context, vc *watched) {
	for told := int64(0); ; {
		changed, n, err := vc.Gate().WaitStats(ctx, told)
		if err != nil {
			return
		}
		s.rows.calls(vc.Name(), changed)
		told = n
		select {
		case <-time.After(callsEvery):
		case <-ctx.Done():
			return
		}
	}
}

func callsRow(vcenter string, st gate.Stat) api.Calls {
	return api.Calls{
		VCenter: vcenter, Client: st.Client, Method: st.Method,
		Calls: uint64(st.Calls), Errors: uint64(st.Errors), Hits: uint64(st.Hits),
		Latency: api.Duration(st.Latency), Last: st.Last, LastError: st.LastError,
	}
}

// calls tells of counts of calls to a vCenter.
func (r *rows) calls(vcenter string, changed []gate.Stat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, st := range changed {
		row := callsRow(vcenter, st)
		r.set("calls/"+vcenter+"\x00"+st.Client+"\x00"+st.Method, api.Update{Calls: &row})
	}
}
