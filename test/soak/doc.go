// Package soak is a long test: twenty sessions do to one simulated vCenter at the same time all that clients do, in
// rounds, and in the end nothing has stalled and nothing has grown.
//
//	go test ./test/soak                  a few thousand calls, as part of the suite
//	go test ./test/soak -calls 500000 -v as the project asks of itself
//
// Floor 5.
package soak
