// Package secrets proves that no secret of a sandbox leaves it: it boots sandboxes with passwords that it chose, injects
// every fault that has to do with credentials, and looks through all that leaves for every secret that there ever was:
// bundles, exported recordings, artifacts of scenarios, reports, logs, events, ConfigMaps, command lines and environments.
//
// What is looked for is collected here, from the API, the files and the cluster, and how it may be written is stated here,
// too: not by the code that masks.
//
// Run it with "make secrets".
package secrets
