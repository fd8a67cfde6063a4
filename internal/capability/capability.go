// Package capability says which of Linux' capabilities a machine withholds even from root.
//
// Containers and small virtual machines often withhold some. Floor 0.
package capability

// SysResource is CAP_SYS_RESOURCE: among others, the kernel makes no mounted ext4 file system larger without it.
const SysResource = "CAP_SYS_RESOURCE"
