// Package react is what a vCenter, its clusters and its networks do by themselves, each part only where the topology asks
// for it:
//
//   - HA: the VMs of a host that is lost are restarted on other hosts of its cluster, some time later, if one can take
//     them; with admission control, a power-on that would leave too little room for that is refused.
//   - DRS: the VMs of a cluster that are on are spread over its hosts, from time to time.
//   - DHCP: guests get other addresses at the end of a lease.
//
// The time that guests take to boot and to shut down is pkg/sim/guest's, what happens to hosts pkg/sim/host's. Nothing is
// polled: everything follows from changes in the vCenter's registry and from timers, on one goroutine.
//
// Floor 2, inside pkg/sim.
package react
