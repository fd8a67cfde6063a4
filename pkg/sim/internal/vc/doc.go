// Package vc has the primitives for changing a running vcsim safely (see [Fresh]).
//
// Floor 2, inside pkg/sim.
package vc
