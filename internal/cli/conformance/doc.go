// Package conformance is the command that runs Kubernetes' own end-to-end tests on a separate sandbox.
//
// What the tests are and how they are run is package pkg/scenario/conformance's.
package conformance
