// Package stocksim runs vcsim as in govmomi's examples: its model and its server, without corrections.
//
// It is the baseline of test/bench/sim, and stands in for a real vCenter in hack/stocksim, which runs it as a separate process;
// other code must not use it. A topology without corrections (spec.stock) still uses the sandbox's builder.
//
//	s, err := stocksim.Serve(stocksim.Options{Address: "127.0.0.1:0", User: "root", Password: password, VMs: 4})
//	if err != nil { … }
//	defer s.Remove()
//
// Floor 2, inside pkg/sim.
package stocksim
