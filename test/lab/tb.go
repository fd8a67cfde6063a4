package lab

import "github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"

// TB is what [Start] needs of a *testing.T or *testing.B. What ends the test must be called from the test's goroutine, as
// with those.
type TB interface {
	sim.TB
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
	Failed() bool
}
