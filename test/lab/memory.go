package lab

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Memory is what the process holds now and held at most, in bytes. Linux only: it is read from /proc.
func (c *CCM) Memory() (now, peak int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.PID()))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(line, ":")
		to := map[string]*int64{"VmRSS": &now, "VmHWM": &peak}[key]
		if to == nil {
			continue
		}
		kB, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		if err != nil {
			return 0, 0, err
		}
		*to = kB << 10
	}
	return now, peak, nil
}
