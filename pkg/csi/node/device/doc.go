// Package device is the node service's backend for block devices: it finds a disk by its link in /dev/disk/by-id, makes a
// file system on it (ext4, ext3, xfs), mounts it and makes it grow, with the tools that k8s.io/mount-utils calls: blkid,
// fsck, mkfs, mount, resize2fs, xfs_growfs. Raw devices it bind-mounts.
//
// It keeps nothing: what is mounted, the kernel's mount table says, and which device is mounted, the device's number.
// Linux only; [New] fails elsewhere.
//
// Floor 1.
package device
