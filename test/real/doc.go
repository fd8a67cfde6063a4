// Package real tests what the sandbox does with vCenters of a user, through the built binary, against two stand-ins that
// run as separate processes and share nothing with the tested sandbox: govmomi's stock simulator (hack/stocksim), with
// none of our code behind its answers, and "vsphere-sandbox vcenter up" with permissions, where a second user may only
// read. Both verify TLS and check passwords.
//
// A proxy of the test sits between where a vCenter must be slow, have another clock, or hold a call back. govc, with a
// separate session, reads the state of a vCenter.
//
// A test waits for conditions, woken by events where a sandbox runs; each wait has a deadline, and prints the state when
// that passes. The binary is bin/vsphere-sandbox, or $VSPHERE_SANDBOX_BIN; stocksim is built for the tests, or
// $VSPHERE_SANDBOX_STOCKSIM.
//
//	make test-real
//
// Floor 5.
package real
