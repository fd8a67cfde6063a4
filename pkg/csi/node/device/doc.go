// Package device is the node service's backend for block devices. It finds a disk by its symlink in /dev/disk/by-id, formats it
// (ext4, ext3, xfs), mounts it and grows it with the tools of k8s.io/mount-utils: blkid, fsck, mkfs, mount, resize2fs,
// xfs_growfs. It bind-mounts raw devices.
//
// It keeps no state: mounts are read from the kernel's mount table, with the numbers of their devices. Linux only; [New] fails
// elsewhere.
//
// Floor 1.
package device
