//go:build race

package truth_test

import "testing"

// skipUnderRace is for tests that do what vcsim itself does without locks: its tasks copy whole datastores
// (Datastore.resolve), and its history collectors whole tasks (TaskHistoryCollector.GetLatestPage), while others change
// them. make test runs these tests without the race detector as well.
func skipUnderRace(t *testing.T) {
	t.Helper()
	t.Skip("vcsim reads datastores and tasks without their locks; run without -race")
}
