// Package gate is the HTTPS front of one simulated vCenter: the place where its API is reachable, unreachable, slow,
// silent or wrong, for all its clients or for some, and where every call is counted.
//
// The simulator behind it is a plain [net/http.Handler] that never listens. Inventory, sessions, tags and tasks live in
// that handler, so an outage of the gate loses none of them: after it the same address answers again, and a client that
// logged in before is still logged in.
//
//	g := gate.New(listener, simulator, gate.Options{TLS: config})
//	defer g.Close(ctx)
//	id, err := g.Add(gate.Rule{
//		Match:  gate.Match{Client: "vsphere-csi", Methods: []string{"PowerOnVM_Task", "Cns*"}},
//		Action: gate.Latency{Delay: 200 * time.Millisecond, Jitter: 50 * time.Millisecond},
//	})
//	…
//	err = g.Remove(ctx, id)
//
// A [Rule] picks calls and says what happens to them; [Gate.Set] is the short way for all calls at once. [Gate.Stats],
// [Gate.Counters] and [Gate.Recent] show what went through. docs/gate.md shows every field.
//
// The gate knows of vSphere what stands in a request: method, object, session. What only the simulator knows comes from
// hooks in [Options]. A gate without rules costs a call a few microseconds.
//
// Floor 2, below pkg/sim. Of govmomi it uses the API's types, never the simulator.
package gate
