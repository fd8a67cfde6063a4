// Package provider is the vSphere cloud provider: what a cloud controller manager needs to know about nodes that are
// virtual machines of one or more vCenters. It implements InstancesV2 of k8s.io/cloud-provider, the older Instances and
// Zones too, and runs under that module's stock controllers.
//
// A node becomes a VM by its providerID, else by its system UUID in either byte order, else by hostname, else by
// address: package match decides that. Everything is answered from an index that a watch keeps current (package inventory), except one thing: that
// a VM is gone, which is only ever said after every configured vCenter has confirmed it directly. Any doubt is an
// error, and on an error the controllers delete nothing. What keeps a node from being served, or from being deleted, is
// told by Events on the Node. Where upstream's provider decides otherwise on purpose, it decides in one of the choices
// that [ParityUpstream] turns.
//
// The configuration is followed while the provider runs, and so are the places of credentials. A change makes a new
// generation of all that depends on it, which takes over connections and indexes whose settings are the same, waits until
// no vCenter is worse off with it, and then takes the place of the one before. What would have nodes called gone, a
// vCenter or a datacenter that is no longer named, waits for the next start.
//
//	err := provider.Run(ctx, []string{"--cloud-config=/etc/cloud/vsphere.conf", "--kubeconfig=…"})
//
// It offers no load balancers, routes or clusters, and knows nothing of the sandbox. It has been tested against
// simulated vCenters only; docs/provider.md lists where it differs from upstream's provider.
//
// Floor 1: of this module it imports only the packages below it.
package provider
