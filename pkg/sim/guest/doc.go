// Package guest is what runs inside the VMs of a simulated vCenter, as far as VMware Tools would tell: hostname,
// addresses, tools and heartbeat appear some time after power-on and vanish at power-off and suspend.
//
// vcsim leaves all of it as it was whatever the power state, which hides the very situations a cloud provider gets
// wrong: a VM that is on and has no address yet, and one that is off and has none any more.
//
// The package also writes down what happens to VMs (powered on, moved, destroyed, guest up) in the event log, each guest
// event with the power event that caused it.
//
// Floor 2, inside pkg/sim.
package guest
