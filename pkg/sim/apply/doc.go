// Package apply changes a running vCenter to match a topology, through the vSphere API alone: it reads the inventory, computes
// the differences, and applies them step by step. It does not use the simulator, and works with any vCenter that has the objects.
//
//	plan, err := apply.New(ctx, client, apply.Options{Topology: desired, VCenter: "west", Current: current})
//	for _, s := range plan.Steps() { fmt.Println(s) }
//	err = plan.Run(ctx, nil)
//
// It does not touch what the topology does not name: volumes of CSI drivers, VMs of users. It removes what the current topology
// names and the desired one does not (or, with Options.Prune, everything else). What a running vCenter cannot change (the size of
// a host, its accounts, its version) is an [*Unchangeable] error with all such differences, and nothing is changed then.
//
// A VM of the topology is recognized by its place and UUID, else by its place, else by its UUID: a VM with another name or folder
// is renamed and moved. The host of a VM within its compute cluster is set if the topology changes it; otherwise the vCenter
// decides (vMotion, HA, DRS).
//
// Guests get hostname and addresses from a cloud-init customization (vSphere 7.0 U3) at the next power-on; running VMs are
// powered off for that, and for other changes that need it. The steps say so.
//
// It is not suitable for building large inventories: a VM takes a few calls.
//
// Floor 2.
package apply
