// Package provider implements the vSphere cloud provider: it describes the Nodes of a cluster whose VMs run in one or more
// vCenters to a cloud controller manager. It implements InstancesV2 and LoadBalancer of k8s.io/cloud-provider, and the older
// Instances and Zones, and runs under that module's stock controllers.
//
// Package match finds the VM of a Node: by providerID, else by system UUID in either byte order, else by hostname, else by
// address. Package inventory keeps an index of the VMs current with a watch, and all answers come from it, with one
// exception: before the provider reports that a VM is gone, every configured vCenter confirms it directly. Any doubt is an
// error, and on an error the controllers delete no Node. Events on a Node report why it cannot be initialized or deleted.
// [ParityUpstream] selects upstream's behavior where this provider differs from it on purpose.
//
// The provider reloads the configuration and the credentials when they change. Each configuration makes a new generation,
// which reuses the connections and indexes whose settings are unchanged, waits until no vCenter is worse off, and then
// replaces the generation before it. A change after which Nodes could be reported gone, such as a removed vCenter or
// datacenter, waits for the next start.
//
//	err := provider.Run(ctx, []string{"--cloud-config=/etc/cloud/vsphere.conf", "--kubeconfig=…"})
//
// If the configuration names an NSX Manager, package loadbalancer makes load balancers there for Services, and package route routes
// to the pods of nodes.
//
// The package has no clusters, and does not depend on the sandbox. It has been tested against
// simulated vCenters only; docs/provider.md lists where it differs from upstream's provider.
//
// Floor 1: of this module it imports only the packages below it.
package provider
