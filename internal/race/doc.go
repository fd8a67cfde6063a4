// Package race tells tests whether they run under the race detector.
//
// vcsim's tasks copy whole datastores (Datastore.resolve) and its history collectors whole tasks
// (TaskHistoryCollector.GetLatestPage) while others change them. A test that creates, clones, relocates and destroys at
// once makes the detector report that, which is nothing that can be corrected from outside. Such tests are left out under
// the detector, and run without it.
//
// Floor 0.
package race
