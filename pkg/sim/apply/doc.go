// Package apply brings a vCenter that runs to what a topology says, through the vSphere API alone: it reads the inventory,
// works out what differs, and does that step by step. It knows nothing of the simulator, and speaks to any vCenter that
// has the objects.
//
//	plan, err := apply.New(ctx, client, apply.Options{Topology: desired, VCenter: "west", Current: current})
//	for _, s := range plan.Steps() { fmt.Println(s) }
//	err = plan.Run(ctx, nil)
//
// What the topology does not name is left alone: volumes of CSI drivers, VMs that somebody made. Removed is what the
// current topology names and the desired one does not (or, with Options.Prune, all the rest). What no vCenter can change
// while it runs (the size of a host, its accounts, its version) is an [*Unchangeable] error that lists all of it, and
// nothing is done then.
//
// A VM of the topology is recognized by its place and UUID, else by its place, else by its UUID: a VM that only has
// another name or folder is renamed and moved. Where a VM runs within its compute cluster is decided when the topology
// says something new of it; otherwise it is the vCenter's affair (vMotion, HA, DRS).
//
// Guests get their hostname and addresses from a cloud-init customization (vSphere 7.0 U3), which takes effect when the VM
// is powered on; VMs that run are powered off for it, and for everything else that cannot be changed while they run. The
// steps say so.
//
// It is not a way to build large inventories: a VM takes a few calls.
//
// Floor 2.
package apply
