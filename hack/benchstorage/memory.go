package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// settle is how long after the work memory is read: garbage is collected by then, or never will be.
const settle = 10 * time.Second

// memory reads what the driver and each sidecar hold with all volumes there.
func (l *lab) memory(ctx context.Context) error {
	select {
	case <-time.After(settle):
	case <-ctx.Done():
		return ctx.Err()
	}
	st, err := l.sandbox.Status(ctx)
	if err != nil {
		return err
	}
	worst := 0.0
	for _, part := range st.Components {
		csi := strings.HasPrefix(part.Name, "csi-") || part.Name == "snapshot-controller"
		if !csi && !strings.HasPrefix(part.Name, "node/") {
			continue
		}
		anon, err := anonymous(part.PID)
		if err != nil {
			return err
		}
		if csi {
			l.table.note(part.Name+", anonymous memory", "MiB", 0, anon)
		} else {
			worst = max(worst, anon)
		}
	}
	l.table.note("largest node, with its volumes, anonymous memory", "MiB", 0, worst)
	return nil
}

// anonymous is the anonymous memory of a process, in MiB.
func anonymous(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("process %d: no RssAnon", pid)
}
