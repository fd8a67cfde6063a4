package explain

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// A vCenter is explained by all the sections that lead to it, and by none of another port.
// (kubernetes/cloud-provider-vsphere#233; finding A3)
func TestSeveralSections(t *testing.T) {
	a := Around{Config: Answer[*config.Config]{Is: &config.Config{VCenters: []config.VCenter{
		{Tenant: "be", Server: "192.0.2.4", Port: 443, Datacenters: []string{"dc-be"}},
		{Tenant: "ux", Server: "192.0.2.4", Port: 443, Datacenters: []string{"dc-ux"}},
		{Tenant: "all", Server: "192.0.2.4", Port: 8443},
	}}}}
	vc := VCenter{VCenter: api.VCenter{Name: "vc", URL: "https://192.0.2.4:443/sdk"}, Server: "192.0.2.4"}
	is, ok := a.configured(vc)
	if diff := cmp.Diff([]string{"dc-be", "dc-ux"}, is.Datacenters); !ok || diff != "" || is.Tenant != "be, ux" {
		t.Errorf("%v, %q, (-want +got):\n%s", ok, is.Tenant, diff)
	}
	vc.URL = "https://192.0.2.4:8443/sdk"
	if is, ok := a.configured(vc); !ok || is.Tenant != "all" || is.Datacenters != nil {
		t.Errorf("%+v", is)
	}
	vc.URL = "https://192.0.2.4:9443/sdk"
	if is, ok := a.configured(vc); ok {
		t.Errorf("%+v", is)
	}
	vc.URL = "https://192.0.2.4/sdk"
	a.Events = []event.Event{
		{Seq: 1, Kind: "ccm.vcenter-connected", Object: event.Object{Kind: "VCenter", Name: "be"}},
		{Seq: 2, Kind: "ccm.vcenter-login-failed", Object: event.Object{Kind: "VCenter", Name: "ux"}, Message: "vCenter ux (192.0.2.4): login refused"},
	}
	if why, e := a.connected(vc); e.Seq != 2 || why == "" {
		t.Errorf("%q, %+v", why, e)
	}
}
