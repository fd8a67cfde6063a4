// Package real tests what the sandbox does with vCenters that are not its own, through the built binary, against two
// stand-ins that run as processes of their own and share nothing with the sandbox that is tested: govmomi's stock simulator
// (hack/stocksim), none of whose answers is of our making, and "vsphere-sandbox vcenter up" with permissions, where a
// second user may only read. Both are spoken to with TLS that is verified and with passwords that are checked.
//
// A proxy of the test's stands in the way where a vCenter is to be slow, to have another clock, or to hold a call back.
// What a vCenter is meanwhile is asked by govc, with a session of its own.
//
// A test waits for conditions, woken by events where a sandbox runs; each wait has a deadline, and prints the world when
// that passes. The binary is bin/vsphere-sandbox, or $VSPHERE_SANDBOX_BIN; stocksim is built for the tests, or
// $VSPHERE_SANDBOX_STOCKSIM.
//
//	make test-real
//
// Floor 5.
package real
