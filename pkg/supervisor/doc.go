// Package supervisor makes an API server a Supervisor: a Kubernetes API whose VirtualMachines are VMs of a vCenter, and whose
// VirtualMachineServices have addresses.
//
// [Start] defines the resources and creates what a Supervisor has from its setup: vSphere Namespaces, zones, VM classes, images, storage
// quotas, and for each guest cluster its account, its rights and its VirtualMachines. Controllers then do what VM Operator, the load
// balancer and NSX's operator do, on watches.
//
// A guest cluster's programs read the account from a directory that [Supervisor.Credentials] keeps, in the layout of a mounted Secret.
//
// Floor 2.
package supervisor
