package sandbox

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func TestFaultKinds(t *testing.T) {
	kinds, err := serve(t, newSandbox(t, "single")).FaultKinds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var latency api.FaultKind
	for _, k := range kinds {
		if k.Name == "" || k.Theme == "" || k.Short == "" || k.Object == "" {
			t.Errorf("%+v", k)
		}
		if k.Name == "vcenter.latency" {
			latency = k
		}
	}
	if len(kinds) < 100 || latency.Object != "VCenter" || len(latency.Params) == 0 || len(latency.Needs) == 0 || latency.Params[0].Type == "" {
		t.Errorf("%d kinds, %+v", len(kinds), latency)
	}
}
