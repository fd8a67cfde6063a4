// Package host is what happens to the hosts of a simulated vCenter, told as a vCenter tells it.
//
// vcsim's calls on hosts change a field, silently, or do not exist. Here a host that is disconnected, put into maintenance
// mode, shut down, rebooted or sent to standby changes its state with updates and events; its VMs become disconnected,
// leave it or wait, the sums of its cluster follow, and calls that would need it are refused. What no client can ask for
// is there for whoever runs the simulation: a host crashes or loses its network and comes back, a datastore is lost, full
// or not mounted any more, a VM cannot be seen or its disks not be changed.
//
// What vCenter does by itself when a host is lost (HA) is pkg/sim/react.
//
// Floor 2, inside pkg/sim. Locks: a VM's is taken before that of a host, resource pool or datastore, and never while one
// of those is held.
package host
