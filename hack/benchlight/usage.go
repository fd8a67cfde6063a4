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

// process is one of the sandbox's.
type process struct {
	name string
	pid  int
}

// processes lists the sandbox itself and its children.
func processes(c *api.Client) ([]process, error) {
	st, err := c.Status(context.Background())
	if err != nil {
		return nil, err
	}
	all := []process{{"sandbox, with its vCenters", st.PID}}
	for _, part := range st.Components {
		if part.PID != 0 {
			all = append(all, process{part.Name, part.PID})
		}
	}
	return all, nil
}

// used is what a process holds, in MiB, and the time it has had a processor for.
type used struct {
	rss float64
	cpu time.Duration
}

// usage reads it of each. A process that is gone holds nothing.
func usage(all []process) map[int]used {
	of := map[int]used{}
	for _, p := range all {
		of[p.pid] = used{rss: rss(p.pid), cpu: cpu(p.pid)}
	}
	return of
}

func rss(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib / 1024
		}
	}
	return 0
}

// cpu reads the ticks, of which there are a hundred in a second, of a process in user and kernel mode.
func cpu(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name before it may hold blanks
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}
