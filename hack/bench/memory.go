package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// settle is how long after the boot memory is read: the garbage of the boot is collected by then, or never will be.
const settle = 10 * time.Second

// memory reads what the sandbox and its children hold.
func (b *lab) memory(c *api.Client) error {
	time.Sleep(settle)
	st, err := c.Status(context.Background())
	if err != nil {
		return err
	}
	own, err := mib(st.PID, "VmRSS")
	if err != nil {
		return err
	}
	worst := 0.0
	for _, part := range st.Components {
		switch {
		case part.Name == "control-plane":
			rss, err := mib(part.PID, "VmRSS")
			if err != nil {
				return err
			}
			b.note("sandbox + control plane, RSS", "MiB", 500, own+rss)
		case strings.HasPrefix(part.Name, "node/"):
			anon, err := mib(part.PID, "RssAnon")
			if err != nil {
				return err
			}
			worst = max(worst, anon)
		case part.Name == "ccm":
			anon, err := mib(part.PID, "RssAnon")
			if err != nil {
				return err
			}
			b.note("cloud controller manager, anonymous memory", "MiB", 40, anon)
		}
	}
	b.note("largest node, anonymous memory", "MiB", 25, worst)
	return nil
}

// mib reads a figure of /proc/PID/status, in MiB.
func mib(pid int, field string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("process %d: no %s", pid, field)
}
