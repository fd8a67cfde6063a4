// Package storage has only tests: volumes through the built program ($VSPHERE_SANDBOX_BIN, or bin/vsphere-sandbox: "make
// build"), for longer and under worse conditions than package e2e tries. "make test-storage" runs them.
//
// TestCrashes kills whatever has a part in volumes at random moments while claims are provisioned, attached, expanded,
// copied, restored and deleted, and wants everything to be right in the end. Which moments is chosen by -seed, which a run
// prints; -rounds and -claims make it longer or heavier.
//
// Floor 5: there is nothing to import.
package storage
