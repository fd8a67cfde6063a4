// Package race reports whether tests run under the race detector.
//
// vcsim's tasks copy whole datastores (Datastore.resolve) and its history collectors whole tasks
// (TaskHistoryCollector.GetLatestPage) while other goroutines change them. A test that creates, clones, relocates and
// destroys at once makes the detector report that, and only vcsim could correct it. Such tests are skipped under the
// detector, and run without it.
//
// Floor 0.
package race
