// Package supervisor connects a guest cluster to its Supervisor: the Kubernetes API that has the guest's virtual machines, load
// balancers and routes as objects.
//
// The credentials are a directory as a mounted Secret: token, ca.crt and namespace. All three are read again for every request
// or connection, so that a rotated token needs no restart. A request that a rotation overtakes is sent again with the new token.
//
//	c, err := supervisor.New(supervisor.Config{Directory: supervisor.DefaultDirectory, Port: "6443"})
//	var vm vmoperator.VirtualMachine
//	err = c.Get(ctx, vmoperator.VirtualMachines("v1alpha2"), namespace, "worker-1", &vm)
//
// Errors state whether an object does not exist or the Supervisor cannot be asked, which must not be confused: see
// [IsObjectNotFound].
//
// Floor 1: beside pkg/provider, which it does not import.
package supervisor
