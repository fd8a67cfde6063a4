// Package nsx runs upstream's code for NSX-T load balancers and routes, with VMware's SDK, against the simulated NSX Manager of
// pkg/sim/nsx: what it sends is the specification of that API.
//
// It is a separate module, because neither upstream's module nor the SDK is a dependency of the project:
//
//	make nsx
package nsx
