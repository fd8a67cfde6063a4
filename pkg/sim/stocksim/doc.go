// Package stocksim is vcsim as a program gets it that follows govmomi's own examples: its model, its server, no correction
// of ours.
//
// It is there to be measured against, by test/bench/sim, and to stand in for a vCenter that is not ours, as hack/stocksim
// runs it in a process of its own; nothing else should need it. A topology that leaves all corrections out (spec.stock) is
// still built by our builder.
//
//	s, err := stocksim.Serve(stocksim.Options{Address: "127.0.0.1:0", User: "root", Password: password, VMs: 4})
//	if err != nil { … }
//	defer s.Remove()
//
// Floor 2, inside pkg/sim.
package stocksim
