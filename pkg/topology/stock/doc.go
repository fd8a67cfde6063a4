// Package stock names what can be left as vcsim has it.
//
// The simulated vCenters are vcsim, corrected where it differs from a vCenter. Each correction has a name here; a
// topology (spec.stock) or a program that uses pkg/sim switches it off by that name, to see what stock vcsim does or to
// compare against it. docs/simulation.md has a row for each.
//
// Floor 0: names only, so that topologies can be checked without the simulator.
package stock
