package api

import (
	"fmt"
	"net/http"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// unavailable is a proxy in front of a vCenter whose services are not up.
func unavailable() *fault.Kind {
	return ruled(fault.Kind{
		Name:  "vcenter.unavailable",
		Short: "answers calls to a vCenter with status 503, as its proxy does while services start",
		Long: `The reverse proxy of a vCenter is up before the services behind it are, and says
so with status 503 and a page of HTML or text, which is neither a SOAP fault nor
JSON.`,
		Params: params([]fault.Param{
			{Name: "code", Short: "the HTTP status, 400 to 599", Type: fault.Number, Default: "503"},
		}, whose(), chance()),
		Reported: []string{"cluster-api-provider-vsphere#1818"},
	}, func(v fault.Values) (gate.Action, string) {
		code := v.Number("code")
		return gate.HTTPStatus{Code: code}, fmt.Sprintf("answers %d %s to", code, http.StatusText(code))
	})
}
