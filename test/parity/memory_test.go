package parity

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// memory returns the private memory of a process, without the pages of its binary, in MiB, from /proc.
func memory(pid int) (float64, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "RssAnon:"); ok {
			var kb float64
			_, err := fmt.Sscanf(rest, "%f kB", &kb)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("pid %d: no RssAnon in its status", pid)
}
