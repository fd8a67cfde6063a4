// Package guard stands between clients and a vCenter that is not ours: requests that only read pass, a request that
// writes passes where it is one of the few that can be taken back, about a VM that may be written to, and only once the way
// back is in a journal.
//
//	g := &guard.Guard{Scope: s, Journal: j, Connection: c}
//	err := g.Pass(request, body, func(out *http.Request) error { … })   // *guard.Refusal: nothing was sent
//	…
//	err = guard.Revert(ctx, j, s, map[string]*vcenter.Connection{"west": c})
//
// What reads is on lists: methods of SOAP for each service (methods.go), and method, path, action and type of body of what is
// no SOAP (rest.go). What is on no list is refused. The guard reads a request once, and writes what is sent to the vCenter
// from what it has read. Before each write the guard reads the VM: where it is, what tags it has, whether it is on.
//
// Floor 2, inside pkg/vcenter. It prints nothing and knows neither nodes nor simulators.
package guard
