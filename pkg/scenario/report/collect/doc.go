// Package collect fetches what a sandbox can tell of itself into the artifacts of a run: its logs, its events, what the
// vCenters hold and what the API server does, all but Secrets.
//
// Floor 4.
package collect
