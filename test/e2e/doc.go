// Package e2e tests the sandbox as a person meets it: through the built binary, from outside its process, as an ordinary
// user (when the tests themselves run as root, everything they start runs as nobody).
//
// Tests that leave a sandbox as it was share one, see TestZones. -short leaves out what others stand for, or takes minutes.
//
// A test waits for conditions and is woken by the sandbox's own events; each wait has a deadline, and prints the world
// when that passes. The binary is bin/vsphere-sandbox, or $VSPHERE_SANDBOX_BIN.
package e2e
