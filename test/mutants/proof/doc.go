// Package proof builds every mutant of package mutants and runs the scenarios that have to fail with it, each on a real
// sandbox with the built program:
//
//	make mutants                                      all of them, and prints the table
//	make mutants MUTANTARGS="-only 'zone|uuid'"       these
//
// The same scenarios run with the provider as it is before, on as few sandboxes as they need and under the same time
// limits, and have to pass: it is the mutant that makes them fail, and nothing else.
//
// Floor 5: tests only.
package proof
