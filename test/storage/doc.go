// Package storage has only tests: volumes through the built program ($VSPHERE_SANDBOX_BIN, or bin/vsphere-sandbox: "make
// build"), for longer and under worse conditions than package e2e tries. "make test-storage" runs them.
//
// TestCrashes kills processes that handle volumes at random times while claims are provisioned, attached, expanded,
// copied, restored and deleted, and expects the right result in the end. -seed, which a run prints, selects the times;
// -rounds and -claims make it longer or heavier.
//
// Floor 5: there is nothing to import.
package storage
