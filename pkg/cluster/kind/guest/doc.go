// Package guest drives the container of a kind node by the life cycle of its VM:
//
//	powered off                killed, as the loss of power does; stopped, when its guest was down before
//	powered on, guest up       started
//	reset                      killed, and started when the guest is up again
//	suspended, hung            paused
//	its host lost power        killed, independent of what the vCenter shows (Die)
//	network lost               a packet filter in the container rejects or drops all its traffic (Cut)
//	destroyed or unregistered  killed, and kept for a VM that is created or registered again
//
// A [Guest] is a node.Guest and a node.Network, as the hollow node of package node is. The caller watches the vCenter
// and passes it the state of the VM:
//
//	watch := guest.NewWatch(rt, "io.x-k8s.kind.cluster", "vsphere-sandbox-demo")
//	go watch.Run(ctx)
//	m, err := guest.New(guest.Options{
//		Name: "worker-1", Container: "vsphere-sandbox-demo-worker", Runtime: rt, Watch: watch,
//		Disks: &disks.Loops{Dir: vcenter.VolumeDir}, ByID: "/state/nodes/worker-1/by-id", Notify: note,
//	})
//	m.Observe(vm)                 // from now on the container follows the VM
//	err = m.Attach(ctx, disk)     // on return, the disk is in the guest's /dev/disk/by-id
//
// A Guest reports and reverts what other processes do to the container: a VM that is powered on has a container that
// runs. It cannot restore a container that was removed, since only kind creates nodes. That is why it keeps the container
// of a VM that is gone: a later VM of the same name takes it over with its own UUID ([Options.Identify]). Deleting the
// cluster removes it. A runtime that does not respond is retried.
//
// Differences to a VM: the kernel writes the unwritten data of a killed container when its mounts go away, so it is not
// lost; the runtime's daemon still resolves the container's names while the network is cut; and containers that are
// started in another order may get another address.
//
// Subpackage disks shows volumes to the containers, by subpackage loop as block devices.
//
// Floor 2. It implements what package node of the same floor defines.
package guest
