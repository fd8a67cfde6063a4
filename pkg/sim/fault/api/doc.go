// Package api is the faults of a vCenter's API: what its clients get to see when it is away, slow, overloaded, refuses
// them, or shows another certificate. The vCenter's inventory stays as it is.
//
// Most of them are a rule of the vCenter's gate, named after the lease and removed when it heals, and so can be kept to one
// client, one account, one transport, some methods or one object. Those about sessions, passwords and permissions change
// the vCenter behind the gate.
//
// Floor 2, below package catalogue.
package api
