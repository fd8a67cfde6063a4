// Package govc is an acceptance test: a session of unmodified govc commands against simulated vCenters, as an
// administrator would type them, whose exit codes and output are those of a vCenter.
//
// The session is testdata/session.txt; its format is described at its top. govc is the one that is linked into the
// program, in a separate process for each command: the test's binary, run again.
//
// Floor 5.
package govc
