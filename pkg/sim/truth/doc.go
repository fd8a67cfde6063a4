// Package truth corrects vcsim where it differs from a vCenter in a way that hides bugs of its clients:
//
//   - SearchIndex looks in the datacenter it is asked to look in, compares UUIDs and DNS names without regard to case,
//     and finds a VM by any address of its guest.
//   - RelocateVM_Task and MigrateVM_Task move a VM, with the lists of VMs that hosts, resource pools and datastores keep.
//   - ResetVM_Task keeps the power state and changes the boot time; RebootGuest restarts the guest.
//   - Destroy_Task and its relatives remove what is below an object too, and refuse what is in use; meanwhile no task
//     looks for what goes.
//   - Names and UUIDs that change are told to watchers; templates cannot be powered on.
//   - A task can be canceled, is forgotten after its time, and has failed when vcsim panics in it.
//   - Arguments that vcsim takes for granted are checked; faults and events have the words of a vCenter.
//
// Each correction is a row of docs/simulation.md, with what vcsim does instead. What guests report in which power state is
// pkg/sim/guest; what hosts do is pkg/sim/host.
//
// The corrections are methods of one managed object of ours, to which calls are redirected before dispatch: the objects
// in the registry stay vcsim's own types, which vcsim asserts in many places.
//
// Floor 2, inside pkg/sim.
package truth
