// Package truth corrects vcsim where it differs from a vCenter in a way that hides bugs of its clients:
//
//   - SearchIndex looks in the datacenter it is asked to look in, compares UUIDs and DNS names without regard to case,
//     and finds a VM by any address of its guest. vcsim searches the whole inventory, exactly, by the first address.
//   - RelocateVM_Task and MigrateVM_Task move a VM, with the lists of VMs that hosts, resource pools and datastores keep.
//     vcsim leaves the lists alone and has no MigrateVM_Task.
//   - ResetVM_Task keeps the power state and changes the boot time; RebootGuest restarts the guest. vcsim powers the VM
//     off and on, and does nothing, respectively.
//   - ShutdownGuest and StandbyGuest need running tools.
//   - RefreshDatastore keeps the capacity.
//
// What guests report in which power state is pkg/sim/guest.
//
// The corrections are methods of one managed object of ours, to which calls are redirected before dispatch: the objects
// in the registry stay vcsim's own types, which vcsim asserts in many places.
//
// Floor 2, inside pkg/sim.
package truth
