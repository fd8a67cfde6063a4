package sim

import (
	"context"
	"testing"
	"time"

	"github.com/vmware/govmomi/eam"
	eamobject "github.com/vmware/govmomi/eam/object"
	eamsim "github.com/vmware/govmomi/eam/simulator"
	eamtypes "github.com/vmware/govmomi/eam/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
)

// bomb is a manager of agents with a call that panics.
type bomb struct{ *eamsim.EsxAgentManager }

// QueryAgency panics.
func (*bomb) QueryAgency(*simulator.Context, *eamtypes.QueryAgency) soap.HasFault { panic("boom") }

// TestPanicInASmallerAPI: the object of a call that panicked answers the next one.
func TestPanicInASmallerAPI(t *testing.T) {
	lab := Start(t, one)
	v := lab.VCenters()[0]
	agents := v.service.ctx.For(eam.Path).Map
	m, ok := agents.Get(eam.EsxAgentManager).(*eamsim.EsxAgentManager)
	if !ok {
		t.Fatal("no manager of agents")
	}
	agents.Put(&bomb{m})
	c := eamobject.NewEsxAgentManager(eam.NewClient(lab.Client("vc").Client), eam.EsxAgentManager)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := c.Agencies(ctx); err == nil || ctx.Err() != nil {
		t.Fatalf("a call that panics: %v", err)
	}
	if err := c.ScanForUnknownAgentVm(ctx); ctx.Err() != nil {
		t.Errorf("the call after it: %v", err)
	}
}
