package api

import (
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// How a service of a vCenter can be down while the others go on.
const (
	unavailableService = "unavailable"
	hungService        = "hung"
	resetService       = "reset"
)

// cnsDown is a vSAN health service that is down: it serves CNS, on every vCenter.
func cnsDown() *fault.Kind {
	return serviceDown(fault.Kind{
		Name:  "cns.down",
		Short: "takes Cloud Native Storage of a vCenter down, and nothing else",
		Long: `CNS is served by the vSAN health service, behind the same proxy as the rest: when
that service is down, logins and inventory work, nodes are what they were, and no
volume can be made, attached, detached, deleted or even asked for.`,
		Reported: []string{"vsphere-csi-driver#3041"},
	}, "CNS", "Cns*")
}

// spbmDown is a policy service that is down.
func spbmDown() *fault.Kind {
	return serviceDown(fault.Kind{
		Name:  "spbm.down",
		Short: "takes the service for storage policies of a vCenter down, and nothing else",
		Long: `Volumes of StorageClasses that name a policy cannot be made, because nobody can
tell which datastores meet it. Those of classes without one can, and what there is
can be attached and detached.`,
	}, "the service for storage policies", "Pbm*")
}

// serviceDown completes a kind that takes those methods away; name is the service's.
func serviceDown(k fault.Kind, name string, methods ...string) *fault.Kind {
	k.Params = []fault.Param{{
		Name: "how", Short: "status 503 from the proxy, no answer until it heals, or a connection that is reset", Type: fault.Text, Default: unavailableService,
		Choices: []string{unavailableService, hungService, resetService},
	}}
	return rulesFor(k, func(c *fault.Call) ([]gate.Rule, string) {
		how := c.Params.Text("how")
		var action gate.Action = gate.HTTPStatus{Code: 503}
		switch how {
		case hungService:
			action = gate.Hang{}
		case resetService:
			action = gate.Reset{}
		}
		return []gate.Rule{rule(c, gate.Match{Transport: gate.SOAP, Methods: methods}, action)}, fmt.Sprintf("take %s down: %s", name, how)
	})
}
