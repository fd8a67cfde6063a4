package sandbox

import (
	"context"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
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
		rows = append(rows, vcenters.CallsRows(vc.Name(), vc.Gate().Stats())...)
	}
	return rows, nil
}

// followCalls tells of the calls to a vCenter until ctx ends: of the first at once, and then once a second of what was
// called meanwhile. Nothing is done as long as nobody calls.
func (s *Sandbox) followCalls(ctx context.Context, vc *vcenters.VCenter) {
	for told := int64(0); ; {
		changed, n, err := vc.Gate().WaitStats(ctx, told)
		if err != nil {
			return
		}
		s.watchCache.SetCalls(vcenters.CallsRows(vc.Name(), changed))
		told = n
		select {
		case <-time.After(callsEvery):
		case <-ctx.Done():
			return
		}
	}
}
