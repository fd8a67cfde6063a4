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
// no SOAP (rest.go). What is on no list is refused. A request is read once, and what goes on to the vCenter is written from
// what was read. Before each write the guard reads the VM: where it is, what tags it has, whether it is on.
//
// Floor 2, inside pkg/vcenter. It prints nothing and knows neither nodes nor simulators.
package guard
