// Package paravirtual is the cloud provider of a guest cluster on a Supervisor, upstream's mode vsphere-paravirtual. It describes
// the cluster's Nodes from the VirtualMachines of a namespace on the Supervisor, makes load balancers of VirtualMachineServices,
// and gives Nodes routable Pod subnets with NSX's resources. It makes no call to a vCenter.
//
// Names, labels, annotations and files are upstream's. Different from upstream, it watches the VirtualMachines instead of listing
// them for each question, it implements InstancesV2, and it deletes nothing on doubt: an API server that cannot be asked, a right
// that is missing, a token that has expired, a resource that is not installed and a namespace without any of the cluster's
// VMs are errors, and on an error the controllers delete no Node and no load balancer. docs/provider.md lists the differences.
//
//	cloud, err := paravirtual.New(paravirtual.Options{Supervisor: supervisor.Config{Port: "6443"}, ClusterName: "guest"})
//
// Package provider runs it with --cloud-provider=vsphere-paravirtual.
//
// Floor 1: of this module it imports only packages beside and below it.
package paravirtual
