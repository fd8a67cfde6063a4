// Package stock names the behaviors of vcsim that can be kept.
//
// The simulated vCenters are vcsim with corrections. Each correction has a name here; a topology (spec.stock) or a program that
// uses pkg/sim disables it by that name, to see or compare the behavior of stock vcsim. docs/simulation.md has a row for each.
//
// Floor 0: it only has names, so that topologies can be checked without the simulator.
package stock
