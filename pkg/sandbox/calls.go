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
		rows = append(rows, callsRows(vc.Name(), vc.Gate().Stats())...)
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
		s.watchCache.SetCalls(callsRows(vc.Name(), changed))
		told = n
		select {
		case <-time.After(callsEvery):
		case <-ctx.Done():
			return
		}
	}
}

func callsRows(vcenter string, stats []gate.Stat) []api.Calls {
	rows := make([]api.Calls, len(stats))
	for i, st := range stats {
		rows[i] = api.Calls{
			VCenter: vcenter, Client: st.Client, Method: st.Method,
			Calls: uint64(st.Calls), Errors: uint64(st.Errors), Hits: uint64(st.Hits),
			Latency: api.Duration(st.Latency), Last: st.Last, LastError: st.LastError,
		}
	}
	return rows
}
