// Package calls is the screen of the API calls to the vCenters: who calls what, how often, how long it takes and what
// fails, and what the gate in front of each vCenter does about it.
//
// Rates and latencies are those of the last [fold.Window]; of a row that was not called in it, the latency is that of all
// its calls. The line beside a row is its rate over the last minute, as far as the state remembers. Rows may be summed up
// by client, by method or by vCenter.
//
//	s := calls.New()
//	s.SetFilter("ccm login")
//
// Floor 4, in the tree of pkg/tui.
package calls
