package api

import (
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// soapFault is an error of the vSphere API.
func soapFault() *fault.Kind {
	return ruled(fault.Kind{
		Name:  "vcenter.soap-fault",
		Short: "answers SOAP calls to a vCenter with a fault of the vSphere API",
		Long: `Any fault of the vSphere API, CNS, PBM or VSLM: NoPermission, NotAuthenticated,
ManagedObjectNotFound, HostCommunication, CnsFault. The vCenter itself does
nothing. Calls of REST are not hit.`,
		Params: params([]fault.Param{
			{Name: "fault", Short: "the type of the fault: NoPermission", Type: fault.Text, Default: "RuntimeFault"},
			{Name: "message", Short: "what clients print", Type: fault.Text},
		}, without(whose(), "transport"), chance()),
		Reported: []string{"cloud-provider-vsphere#665", "cloud-provider-vsphere#680"},
	}, func(v fault.Values) (gate.Action, string) {
		a := gate.Fault{Type: v.Text("fault"), Message: v.Text("message")}
		return a, fmt.Sprintf("answers fault %s to", a.Type)
	})
}

// restError is an error of the Automation API.
func restError() *fault.Kind {
	return ruled(fault.Kind{
		Name:  "vcenter.rest-error",
		Short: "answers REST calls to a vCenter with an error of the Automation API",
		Long: `Tags, and with them regions and zones, are read over REST: here it fails while
SOAP goes on. The error has the form that the path's clients expect, /rest or
/api. Calls of SOAP are not hit.`,
		Params: params([]fault.Param{
			{Name: "error", Short: "the type of the error: UNAUTHENTICATED, NOT_FOUND", Type: fault.Text, Default: "SERVICE_UNAVAILABLE"},
			{Name: "message", Short: "what clients print", Type: fault.Text},
		}, without(whose(), "transport"), chance()),
		Reported: []string{"cluster-api-provider-vsphere#1818"},
	}, func(v fault.Values) (gate.Action, string) {
		a := gate.RESTError{Type: v.Text("error"), Message: v.Text("message")}
		return a, fmt.Sprintf("answers error %s to", a.Type)
	})
}
