// Package inventory builds the objects of one vCenter from its topology, directly in vcsim's registry and before the
// vCenter serves: some 70 µs per VM in memory, where vcsim's own builder takes 38 ms.
//
// [Make] builds, and reports what else there is to do: guests to start, permissions to grant. [About] says what a vCenter of
// a version is, for the time before there is one. [NewJoining] goes with a vCenter that serves.
//
// It avoids the places where vcsim would give a wrong inventory: hosts that mount only some datastores, UUIDs and MAC
// addresses that repeat between vCenters, networks that only one host can have, capacities that grow with every mount,
// resource pools that share one summary. VMs are not made by vcsim at all, but are what it would have made.
//
// Objects are made by one goroutine in the order of the topology, so that the same topology gives the same references;
// several write the files of VMs meanwhile. Those take the time: two files and a directory for each VM, which is nothing
// on a file system in memory and up to a few tenths of a millisecond on a disk.
//
// It is not a way to change a vCenter that serves: that is done through the vSphere API.
//
// Floor 2, inside pkg/sim.
package inventory
