package lab

import (
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// The lab's own account at every vCenter.
const (
	operatorName     = "lab@operators.local"
	operatorPassword = "operator" //nolint:gosec // of a simulated vCenter on loopback
)

// load reads a topology and gives the lab an account at each of its vCenters.
func load(source string, settings []topology.Setting) (*topology.Topology, error) {
	var top *topology.Topology
	var err error
	if strings.Contains(source, "\n") {
		top, err = topology.Load("topology", []byte(source), settings...)
	} else {
		top, err = topology.LoadFile(source, settings...)
	}
	if err != nil {
		return nil, err
	}
	for i := range top.Spec.VCenters {
		v := &top.Spec.VCenters[i]
		v.Users = append(v.Users, topology.User{Name: operatorName, Password: operatorPassword})
		v.Permissions = append(v.Permissions, topology.Permission{User: operatorName, Role: "Admin", Propagate: topology.Yes})
	}
	return top, nil
}
