// Package trim gives memory back that a process needed only to start. A program of this size touches most of its code
// once, while Kubernetes registers its APIs, and never again; the garbage of a boot is larger than what lives after it.
// Both stay in the process's resident set for as long as nothing asks for them, and there are eight of these processes.
//
// Floor 0.
package trim

import (
	"os"
	"runtime/debug"
)

// Booting has the garbage collector run less often until done is called, and with the percentage after from then on: many processes
// boot at once, and each one's collector takes the cores that it finds idle from the others. A GOGC in the environment stands. done does
// what [AfterBoot] does, too.
func Booting(after int) (done func()) {
	if os.Getenv("GOGC") != "" {
		return AfterBoot
	}
	debug.SetGCPercent(200)
	return func() {
		debug.SetGCPercent(after)
		AfterBoot()
	}
}

// AfterBoot returns what the boot left behind: garbage to the system, and code and constants to the page cache, from
// where the kernel maps them again when they are used. It costs a garbage collection and some page faults.
func AfterBoot() {
	debug.FreeOSMemory()
	unmapCode()
}

// large is how many VMs make an inventory large: marking them takes the collector longer than answering calls takes.
const large = 2000

// Inventory has the garbage collector run less often in a process that holds that many VMs, if they are many: calls make
// garbage at hundreds of megabytes a second, and each collection marks the whole inventory on the cores that answer them.
// It costs memory under load, up to four times the heap. A GOGC in the environment stands.
func Inventory(vms int) {
	if vms >= large && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
