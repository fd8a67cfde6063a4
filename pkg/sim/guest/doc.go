// Package guest simulates what VMware Tools report from inside the VMs of a vCenter: tools and heartbeat appear some time after
// power-on, hostname and addresses later, and all of it disappears at power-off and suspend. A guest takes time to shut down; one
// without tools reports nothing and cannot be asked; the end of a DHCP lease may change its addresses.
//
// vcsim never changes guest information with the power state, which hides the situations that cloud providers handle wrongly: a
// VM that is on and has no address yet, and one that is off and has none any more.
//
// The package also logs what happens to VMs (powered on, moved, destroyed, guest up), each guest event with the power event that
// caused it.
//
// Floor 2, inside pkg/sim.
package guest
