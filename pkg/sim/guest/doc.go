// Package guest is what runs inside the VMs of a simulated vCenter, as far as VMware Tools would tell: tools and heartbeat
// appear some time after power-on, hostname and addresses some time after that, and all of it vanishes at power-off and
// suspend. A guest that is asked to shut down takes its time; one without tools reports nothing and cannot be asked; the
// end of a DHCP lease may change its addresses.
//
// vcsim leaves all of it as it was whatever the power state, which hides the very situations a cloud provider gets
// wrong: a VM that is on and has no address yet, and one that is off and has none any more.
//
// The package also writes down what happens to VMs (powered on, moved, destroyed, guest up) in the event log, each guest
// event with the power event that caused it.
//
// Floor 2, inside pkg/sim.
package guest
