// Package disks shows the disks of VMs to the containers that are their guests: each container has a folder of this machine
// mounted as its /dev/disk/by-id, and what is put there it sees at once.
//
//	shelf := &disks.Loops{Dir: vcenter.VolumeDir}
//	if err := shelf.Possible(folder); err != nil {
//		// err says why not; then: shelf := &disks.Links{Dir: vcenter.VolumeDir, Inside: ...}
//	}
//	err := shelf.Plug(ctx, folder, disk)
//
// Two ways. [Loops] are block devices: the content of a volume is the file that package disk calls its raw block, in the
// directory that stands for the volume, so that it follows the volume to whichever VM that is attached to, and is copied with
// it by snapshots; that takes root and loop devices. [Links] lead to the directory itself, which the container has mounted, too:
// no block device, no file system, no privilege; the CSI node service has to be told. Of a guest that hangs nothing can be taken
// that it has bind mounted.
//
// A volume is on one machine at a time: to plug it into another takes it off the first, which waits until what the first still
// held has been written.
//
// Floor 2.
package disks
