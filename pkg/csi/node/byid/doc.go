// Package byid finds a disk by the link that its UUID has in a folder like /dev/disk/by-id, and waits for it there.
//
// Floor 1.
package byid
