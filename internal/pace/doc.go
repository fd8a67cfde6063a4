// Package pace scales time. One factor, the sandbox's --speed, divides every period by which Kubernetes notices,
// decides and retries, so that five minutes of waiting on a real cluster become thirty seconds that still happen in
// the same order. Speed 1 is upstream's defaults to the second.
//
// The table of what is scaled is in one place ([Table]); docs/speed.md is printed from it.
//
// Floor 0.
package pace
