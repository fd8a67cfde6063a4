// Package react simulates the automatic actions of a vCenter, its clusters and its networks, as far as the topology enables them:
//
//   - HA: the VMs of a lost host are restarted on other hosts of its cluster after a delay, if one can take them; with admission
//     control, power-ons that leave too little room for that are refused.
//   - DRS: the running VMs of a cluster are spread over its hosts periodically.
//   - DHCP: guests get other addresses at the end of a lease.
//
// Boot and shutdown times of guests are in pkg/sim/guest, changes of hosts in pkg/sim/host. Nothing polls: everything follows
// from changes in the vCenter's registry and from timers, on one goroutine.
//
// Floor 2, inside pkg/sim.
package react
