package sandbox

import (
	"context"
	"fmt"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// setGate changes what clients get of a vCenter. The sandbox's own connection is not affected.
func (s *Sandbox) setGate(ctx context.Context, r api.GateRequest) (api.Done, error) {
	if err := s.built(); err != nil {
		return api.Done{}, err
	}
	vc := s.vcenters.Find(r.VCenter)
	if vc == nil {
		return api.Done{}, &api.Error{Code: "not-found", Message: fmt.Sprintf("vcenter %q: no such vCenter", r.VCenter), Try: "vsphere-sandbox get vcenters"}
	}
	mode := gate.Mode{State: gate.State(r.Mode), Delay: time.Duration(r.Delay)}
	if err := vc.Gate().Set(ctx, mode); err != nil {
		return api.Done{}, &api.Error{Code: "invalid", Message: fmt.Sprintf("vcenter %q: %v", r.VCenter, err)}
	}
	return api.Done{Message: fmt.Sprintf("vcenter %q is %s", r.VCenter, mode), Seq: s.log.Last()}, nil
}

// vcenterRows describes the vCenters in topology order.
func (s *Sandbox) vcenterRows() []api.VCenter {
	rows := []api.VCenter{}
	if s.built() != nil {
		return rows
	}
	for _, vc := range s.vcenters {
		rows = append(rows, vc.Row())
	}
	return rows
}

// Access tells how to log in to each vCenter.
func (s *Sandbox) Access() ([]api.Access, error) {
	if err := s.built(); err != nil {
		return nil, err
	}
	rows := []api.Access{}
	for _, vc := range s.vcenters {
		rows = append(rows, api.Access{
			VCenter: vc.Name(), URL: vc.URL().String(), User: vc.User(), Password: vc.Password(), CAFile: s.vcenterCA(),
		})
	}
	return rows, nil
}
