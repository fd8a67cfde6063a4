// Package mutants breaks the cloud provider on purpose, so that scenarios can prove their worth: each [Mutant] is one
// small, plausible change of the provider's sources, and names the scenarios that must fail with it, and at which step.
//
// The sources are never changed: [Mutant.Build] uses an overlay of the Go tool. Tests of this package check that every
// mutant fits the sources and every scenario exists; package proof, which takes minutes, builds and runs them all:
//
//	make mutants
//
// A scenario that passes with its mutant is too weak and must be changed. The scenarios simple-* are of the load balancer that the
// sandbox itself has, as no mutant of the provider can fail them: their mutants are changes of pkg/sandbox/loadbalancer.
//
// Floor 5.
package mutants
