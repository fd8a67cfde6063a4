// Package disks shows the disks of VMs to the containers that are their guests: each container mounts a folder of this
// host at /dev/disk/by-id, and sees at once what is created there.
//
//	shelf := &disks.Loops{Dir: vcenter.VolumeDir}
//	if err := shelf.Supported(folder); err != nil {
//		// err is the reason; then: shelf := &disks.Links{Dir: vcenter.VolumeDir, Inside: ...}
//	}
//	err := shelf.Plug(ctx, folder, disk)
//
// There are two implementations. [Loops] creates block devices: the content of a volume is the file that package disk
// calls its raw block, in the volume's directory. So it follows the volume to the next VM, and snapshots copy it. Loops
// needs root and loop devices. [Links] creates symbolic links to the volume's directory, which the container mounts too:
// no block device, no file system, no privilege, but the CSI node service must support it. A bind mount in a hung guest
// cannot be removed.
//
// A volume is on one guest at a time: plugging it into another unplugs it from the first, and waits until the first guest's
// unwritten data is written.
//
// Floor 2.
package disks
