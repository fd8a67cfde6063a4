// Package mutants breaks the cloud provider on purpose, so that scenarios can prove what they are worth: each [Mutant] is
// one small change of the provider's sources that somebody might make, and names the scenarios which have to fail then,
// with the step at which.
//
// The sources themselves are never touched: [Mutant.Build] has the Go tool read the changed file in place of the one that
// is there. Tests of this package see that every mutant fits the sources and every scenario is there; package proof, which
// takes minutes, builds and runs them all:
//
//	make mutants
//
// A scenario that passes with its mutant is too weak: it is the scenario that has to be changed then.
//
// Floor 5.
package mutants
