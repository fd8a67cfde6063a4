// Package host simulates the hosts of a vCenter, and reports their changes as a vCenter does.
//
// vcsim's calls on hosts change a field silently, or do not exist. Here a host that is disconnected, put into maintenance mode,
// shut down, rebooted or sent to standby changes its state with updates and events; its VMs become disconnected, leave it or
// wait, the sums of its cluster follow, and calls that need it are refused. Go methods do what no client can: a host crashes or
// loses its network and returns, a datastore is lost, full or unmounted, a VM is hidden or refuses changes of its disks.
//
// HA, vCenter's reaction to a lost host, is in pkg/sim/react.
//
// Floor 2, inside pkg/sim. Locks: a VM's lock is taken before that of a host, resource pool or datastore, and never while one of
// those is held.
package host
