package capability

import "golang.org/x/sys/unix"

var numbers = map[string]uintptr{SysResource: unix.CAP_SYS_RESOURCE}

// Withheld reports whether no process that this one starts can have a capability. A name that this package does not
// have, or that the kernel does not know, is not withheld.
func Withheld(name string) bool {
	n, known := numbers[name]
	if !known {
		return false
	}
	has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, n, 0, 0, 0)
	return err == nil && has == 0
}
