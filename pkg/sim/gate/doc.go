// Package gate is the HTTPS front of one vCenter. It makes the API unreachable, slow, silent or wrong, for all clients or
// for some, and counts every call.
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
// A [Rule] selects calls and an action; [Gate.Set] is a shortcut for all calls. [Gate.Stats],
// [Gate.Counters] and [Gate.Recent] show what went through. docs/gate.md shows every field.
//
// The gate reads method, object and session from the request. Hooks in [Options] ask the simulator for the rest. A gate
// without rules adds a few microseconds to a call.
//
// Floor 2, below pkg/sim. Of govmomi it uses the API's types, never the simulator.
package gate
