// Package byid waits for a disk's symlink, named after its UUID, in a directory like /dev/disk/by-id.
//
// Floor 1.
package byid
