// Package disk makes a directory stand for a disk, so that a volume's content can follow the volume from node to node where
// there are no block devices. It is not a disk image: nothing is encoded, the content lies there as plain files.
//
// A disk's directory belongs to two parties that write different files in it, each atomically:
//
//	disk.json   the hardware's (who makes and resizes disks): its size
//	fs.json     the node's: the file system that it was formatted with; absent on a new disk
//	data/       the node's: the file system's content
//	block       the node's: the content when it is used raw, a sparse file of the disk's size; absent until then
//
// Hardware: [Create], [Size], [Resize], [Copy], [Remove], by directory. Node: [Open] and the methods of [Disk].
//
// A process may be killed at any moment: a disk is there with all that belongs to it, or not there. What lies beside it then
// under its name and ".new" or ".gone" the next Create, Copy or Remove of it takes away. Nothing is synced to the medium:
// the machine itself is not what fails here. Directories have mode 0700, files 0600.
//
// Floor 1: it imports nothing of this module.
package disk
