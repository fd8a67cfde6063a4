// Package vc holds the few moves by which pkg/sim changes a running vcsim from outside, with the rules that make them
// safe (see [Fresh]).
//
// Floor 2, inside pkg/sim.
package vc
