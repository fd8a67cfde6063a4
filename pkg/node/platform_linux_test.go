package node_test

import (
	"fmt"
	"os"
	"strings"
)

// isStopped reports whether a process is stopped by a signal.
func isStopped(pid int) bool {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "T")
}
