// Package loop makes a file a loop device of this host, and finds and ends the loop devices that it made.
//
//	d, err := loop.Attach("/state/volumes/1f3a/block", false)
//	err = d.CreateNode("/state/nodes/w1/by-id/wwn-0x6000c29…") // what a guest opens
//	…
//	pinned, err := d.Detach(ctx, 2*time.Second)
//
// A device is identified by its backing file and nothing else, so that [Reap] finds all devices of a process that was
// killed. Devices belong to the host, not to a container: a device that is not ended outlives all containers.
//
// It needs root, Linux 5.8 or later and a file system that accepts device files. [Probe] checks that.
//
// Floor 2. It imports nothing of this module.
package loop
