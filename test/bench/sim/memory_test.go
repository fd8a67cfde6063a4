package sim

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// used is what the process holds, in bytes.
type used struct{ heap, rss float64 }

// memory collects the garbage first.
func memory() used {
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return used{heap: float64(m.HeapAlloc), rss: resident()}
}

// resident returns the process's resident set, or 0 if it is unknown.
func resident() float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			if err != nil {
				return 0
			}
			return kib * 1024
		}
	}
	return 0
}
