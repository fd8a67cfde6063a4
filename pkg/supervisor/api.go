package supervisor

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Groups and versions of the resources, as the controllers use them.
const (
	vmGroup, vmVersion = "vmoperator.vmware.com", "v1alpha5"
	nsxGroup           = "nsx.vmware.com"
	vpcGroup           = "crd.nsx.vmware.com"
)

// Resources of VM Operator.
func machines() schema.GroupVersionResource        { return vmResource("virtualmachines") }
func machineServices() schema.GroupVersionResource { return vmResource("virtualmachineservices") }
func classes() schema.GroupVersionResource         { return vmResource("virtualmachineclasses") }
func images() schema.GroupVersionResource          { return vmResource("virtualmachineimages") }

func vmResource(name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: vmGroup, Version: vmVersion, Resource: name}
}

func resource(group, version, name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: name}
}

// Labels, annotations and finalizers.
const (
	// ClusterLabel and RoleLabel are on the VirtualMachines of guest clusters; the value of the second is [RoleNode] or
	// [RoleControlPlane].
	ClusterLabel = "capv.vmware.com/cluster.name"
	RoleLabel    = "capv.vmware.com/cluster.role"
	// The legacy labels have the same values.
	legacyClusterLabel = "capw.vmware.com/cluster.name"
	legacyRoleLabel    = "capw.vmware.com/cluster.role"
	// RoleNode is the role of a worker.
	RoleNode         = "node"
	RoleControlPlane = "controlplane"
	// ZoneLabel is the zone of a VirtualMachine.
	ZoneLabel = "topology.kubernetes.io/zone"

	machineFinalizer = "vmoperator.vmware.com/virtualmachine"
	serviceFinalizer = "vmoperator.vmware.com/virtualmachineservice"
)

// Power states of a VirtualMachine.
const (
	poweredOn  = "PoweredOn"
	poweredOff = "PoweredOff"
	suspended  = "Suspended"
)
