// Package disk emulates a disk with a directory, so that a volume's content can move from node to node without block
// devices. It is not a disk image: the content is stored as plain files.
//
// Two parties write to a disk's directory, each atomically and to its own files:
//
//	disk.json   hardware (the creator of the disk): its size
//	fs.json     node: the file system that the disk was formatted with; missing on a new disk
//	data/       node: the content of the file system
//	block       node: the raw content, a sparse file of the disk's size; missing until it is used raw
//
// The hardware side is [Create], [Size], [Resize], [Copy] and [Remove]; the node side is [Open] and the methods of [Disk].
//
// A process may be killed at any time: a disk exists completely or not at all. The next Create, Copy or Remove deletes a
// leftover ".new" or ".gone" directory next to it. Nothing is synced to the medium, because crashes of the host are not
// simulated. Directories have mode 0700, files 0600.
//
// Floor 1: it imports nothing of this module.
package disk
