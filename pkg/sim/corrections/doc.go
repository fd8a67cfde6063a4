// Package corrections corrects vcsim where its differences from a vCenter hide bugs of clients:
//
//   - SearchIndex respects the requested datacenter, compares UUIDs and DNS names case-insensitively, and finds a VM by
//     any address of its guest.
//   - RelocateVM_Task and MigrateVM_Task move a VM, with the lists of VMs that hosts, resource pools and datastores keep.
//   - ResetVM_Task keeps the power state and changes the boot time; RebootGuest restarts the guest.
//   - Destroy_Task and similar calls also remove the contents of an object, and refuse objects in use. No task runs during
//     a removal.
//   - Watchers get updates of changed names and UUIDs; templates cannot be powered on.
//   - A task can be canceled, is removed after its time, and fails when vcsim panics in it.
//   - Arguments that vcsim does not check are checked; faults and events have a vCenter's messages.
//
// Each correction is a row of docs/simulation.md, with the behavior of vcsim. Guest reports are in pkg/sim/guest, hosts in
// pkg/sim/host.
//
// The corrections are methods of one managed object, to which calls are redirected before dispatch: the objects in the
// registry keep vcsim's types, which vcsim asserts in many places.
//
// Floor 2, inside pkg/sim.
package corrections
