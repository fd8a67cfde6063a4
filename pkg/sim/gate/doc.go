// Package gate is the HTTPS front of one simulated vCenter: the place where its API is reachable, unreachable, slow or
// silent, and where every call is counted.
//
// The simulator behind it is a plain [net/http.Handler] that never listens. Inventory, sessions, tags and tasks live in
// that handler, so an outage of the gate loses none of them: after [Down] the same address answers again, and a client
// that logged in before is still logged in.
//
//	g := gate.New(listener, simulator, gate.Options{TLS: config})
//	defer g.Close(ctx)
//	g.Set(ctx, gate.Mode{State: gate.Slow, Delay: 200 * time.Millisecond})
//
// It knows nothing of vSphere beyond the shape of a SOAP envelope.
//
// Floor 2, below pkg/sim. Standard library only.
package gate
