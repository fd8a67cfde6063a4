// Package faulttest runs faults in tests: simulated vCenters behind a [fault.Ground] that uses their
// public API, as a client does, and stand-ins for Kubernetes and for the processes of a sandbox where a test needs them.
//
//	w := faulttest.Start(t, topologySource)
//	lease := w.Inject(t, vm.Kinds(), fault.Request{Kind: "vm.power-off", On: fault.Selector{Names: []string{"worker-1"}}})
//	… // look at it through w.Client("vc")
//	w.Heal(t, lease.ID)
//
// It is for tests only. Floor 2.
package faulttest
