// Package e2e tests the sandbox as a user runs it: through the built binary, from outside its process, as an ordinary
// user (if the tests run as root, everything that they start runs as an unprivileged user).
//
// Tests that leave a sandbox as it was share one, see TestZones. -short leaves out what others stand for, or takes minutes.
//
// A test waits for conditions and is woken by the sandbox's own events; each wait has a deadline, and prints the world
// when that passes. The binary is bin/vsphere-sandbox, or $VSPHERE_SANDBOX_BIN.
package e2e
