// Package trim gives memory back that a process needed only to start. A program of this size touches most of its code
// once, while Kubernetes registers its APIs, and never again; the garbage of a boot is larger than what lives after it.
// Both stay in the process's resident set for as long as nothing asks for them, and there are eight of these processes.
//
// Floor 0.
package trim

import "runtime/debug"

// AfterBoot returns what the boot left behind: garbage to the system, and code and constants to the page cache, from
// where the kernel maps them again when they are used. It costs a garbage collection and some page faults.
func AfterBoot() {
	debug.FreeOSMemory()
	unmapCode()
}
