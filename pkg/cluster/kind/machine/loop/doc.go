// Package loop makes a file a block device of this machine, and finds and ends the ones that it has made.
//
//	d, err := loop.Attach("/state/volumes/1f3a/block", false)
//	err = d.Node("/state/nodes/w1/by-id/wwn-0x6000c29…") // what a guest opens
//	…
//	pinned, err := d.Detach(ctx, 2*time.Second)
//
// A device belongs to whoever has its backing file: nothing else is kept of it, so that a process which was killed leaves
// nothing that [Reap] does not find. Devices are the machine's, not a container's: one that is not ended outlives them all.
//
// It needs root, Linux 5.8 or later and a file system that takes device files. [Probe] says whether all of that is there.
//
// Floor 2. It imports nothing of this module.
package loop
