package trim

import (
	"os"
	"runtime/debug"
)

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
