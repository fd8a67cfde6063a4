//go:build unix && !linux

package node_test

import (
	"os/exec"
	"strconv"
	"strings"
)

// isStopped reports whether a process is stopped by a signal.
func isStopped(pid int) bool {
	state, _ := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
	return strings.HasPrefix(string(state), "T")
}
