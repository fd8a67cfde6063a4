// Package race reports whether tests run under the race detector.
//
// vcsim's tasks copy whole datastores (Datastore.resolve) and its history collectors whole tasks
// (TaskHistoryCollector.GetLatestPage) while other goroutines change them. A test that creates, clones, relocates and
// destroys at once makes the detector report that, and only vcsim could correct it. Such tests are skipped under the
// detector, and run without it.
//
// Floor 0.
package race

import "testing"

// SkipSlow skips t in short runs under the race detector. It is for tests that use one goroutine at a time: the detector
// finds nothing in them and makes them 20 times slower. Runs without the detector, or without -short, run them.
func SkipSlow(t testing.TB) {
	t.Helper()
	if Enabled && testing.Short() {
		t.Skip("slow under the race detector, which finds nothing here: runs without it, and in make race")
	}
}
