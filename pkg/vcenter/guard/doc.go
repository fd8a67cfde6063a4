// Package guard protects an existing vCenter: it passes requests that only read. It passes a request that writes only if the
// write is one of the few that can be reverted, concerns a VM in the scope, and is recorded in a journal first.
//
//	g := &guard.Guard{Scope: s, Journal: j, Connection: c}
//	err := g.Pass(request, body, func(out *http.Request) error { … })   // *guard.Refusal: nothing was sent
//	…
//	err = guard.Revert(ctx, j, s, map[string]*vcenter.Connection{"west": c})
//
// Lists define what reads: SOAP methods for each service (methods.go), and method, path, action and type of body for other
// requests (rest.go). Everything else is refused. The guard parses a request once, and writes the request to the vCenter from the
// result. Before each write it reads the VM: its place, its tags and its power.
//
// Floor 2, inside pkg/vcenter. It prints nothing and does not use nodes or simulators.
package guard
