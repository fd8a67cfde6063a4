// Package supervisor has the faults of a Supervisor: its API, its controllers, and the account of the guest cluster.
package supervisor
