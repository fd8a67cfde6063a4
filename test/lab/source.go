package lab

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

// The accounts that the lab adds to every vCenter: its own, and that of CCMs, which may read everything and nothing more.
const (
	operatorName     = "lab@operators.local"
	operatorPassword = "operator" // of a simulated vCenter on loopback
	ccmName          = "ccm@services.local"
)

// load reads a topology and adds the lab's accounts to each of its vCenters.
func load(source string, settings []topology.Setting) (*topology.Topology, error) {
	top, err := scenarios.LoadFrom(source, settings...)
	if err != nil {
		return nil, err
	}
	for i := range top.Spec.VCenters {
		v := &top.Spec.VCenters[i]
		v.Users = append(v.Users,
			topology.User{Name: operatorName, Password: operatorPassword},
			topology.User{Name: ccmName, Password: "ccm-" + v.Name})
		v.Permissions = append(v.Permissions,
			topology.Permission{User: operatorName, Role: "Admin", Propagate: topology.Yes},
			topology.Permission{User: ccmName, Role: "ReadOnly", Propagate: topology.Yes})
	}
	return top, nil
}
