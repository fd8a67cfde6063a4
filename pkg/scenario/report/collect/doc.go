// Package collect writes the state of a sandbox to the artifacts of a run: logs, events, inventory and Kubernetes objects, except
// Secrets.
//
// Floor 4.
package collect
