// Package machine has the life of a virtual machine drive the container that is its node in a kind cluster:
//
//	powered off                killed, as the loss of power does; stopped, when its guest was down before
//	powered on, guest up       started
//	reset                      killed, and started when the guest is up again
//	suspended, hung            paused
//	its host lost power        killed, whatever the vCenter shows (Die)
//	network lost               a packet filter in the container refuses or drops all that comes and goes (Cut)
//	destroyed or unregistered  killed, and kept for a VM that is made or registered again
//
// A [Machine] is a node.Guest and a node.Network, as the hollow node of package node is, and is told what its VM is like by
// whoever watches the vCenter:
//
//	watch := machine.NewWatch(rt, "io.x-k8s.kind.cluster", "vsphere-sandbox-demo")
//	go watch.Run(ctx)
//	m, err := machine.New(machine.Options{
//		Name: "worker-1", Container: "vsphere-sandbox-demo-worker", Runtime: rt, Watch: watch,
//		Disks: &disks.Loops{Dir: vcenter.VolumeDir}, ByID: "/state/nodes/worker-1/by-id", Notify: note,
//	})
//	m.Observe(vm)                 // from now on the container follows
//	err = m.Attach(ctx, disk)     // it is in the guest's /dev/disk/by-id when that returns
//
// What somebody else does to the container is noticed, told and put right: a machine that is powered on has a container that
// runs. One that was removed stays away, for a node is made by kind alone; the runtime's daemon may be away for a while. That is
// also why the container of a VM that is gone is kept: a VM of the same name that is made later has it, with its own UUID
// ([Options.Identify]), and whoever deletes the cluster removes it.
//
// Differences to a real machine, which are told where they show: what a killed container had not written to its disks yet is
// written by the kernel when its mounts go, and is not lost; while the network is cut the container's names are resolved still,
// by the runtime's daemon; and of the containers that are started after others were, some may get another address.
//
// Subpackage disks shows volumes to the containers, by subpackage loop as block devices.
//
// Floor 2. It implements what package node of the same floor defines.
package machine
