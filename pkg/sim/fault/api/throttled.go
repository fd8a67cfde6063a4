package api

import (
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// throttled is a vCenter that has too much to do.
func throttled() *fault.Kind {
	return ruled(fault.Kind{
		Name:  "vcenter.throttled",
		Short: "lets so many calls a second through to a vCenter and answers the others with 503",
		Long: `As an overloaded vCenter, or a proxy that protects one: of the calls that are
hit, so many a second pass, all clients taken together; the others are answered
with status 503 and Retry-After.

A client that asks once for each node runs into it; one that watches does not.`,
		Params: params([]fault.Param{
			{Name: "rate", Short: "how many calls a second pass", Type: fault.Number, Default: "5"},
		}, whose()),
		Reported: []string{"cluster-api-provider-vsphere#1818", "kubernetes#75285"},
	}, func(v fault.Values) (gate.Action, string) {
		n := v.Number("rate")
		return gate.Throttle{Rate: float64(n)}, fmt.Sprintf("lets %d calls a second pass of", n)
	})
}
