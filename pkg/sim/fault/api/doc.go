// Package api has the faults of a vCenter's API: what clients get when it is down, slow, overloaded, refuses them, or shows
// another certificate. The vCenter's inventory stays as it is.
//
// Most of them are a rule of the vCenter's gate, named after the lease and removed when it heals. They can be limited to one
// client, account, transport, method or object. Those of sessions, passwords and permissions change the vCenter behind the gate.
//
// Floor 2, below package catalogue.
package api
