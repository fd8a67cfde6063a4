//go:build unix && !linux

package instance

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Suspended reports whether a process is stopped, as by Ctrl-Z. It is false for one that does not exist.
func Suspended(ctx context.Context, pid int) bool {
	if pid <= 0 {
		return false
	}
	out, err := exec.CommandContext(ctx, "ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.HasPrefix(strings.TrimSpace(string(out)), "T")
}

// processes lists all processes. -E adds the environment, where the system
// lets it be seen.
func processes(ctx context.Context) ([]observed, error) {
	out, err := exec.CommandContext(ctx, "ps", "-axww", "-E", "-o", "pid=,pgid=,stat=,command=").Output()
	if err != nil {
		return nil, err
	}
	var all []observed
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 4 || strings.HasPrefix(fields[2], "Z") {
			continue
		}
		pid, err := strconv.Atoi(fields[0])
		if err != nil {
			continue
		}
		pgid, err := strconv.Atoi(fields[1])
		if err != nil {
			continue
		}
		all = append(all, observed{pid: pid, pgid: pgid, text: line})
	}
	return all, nil
}

// startOf is not known here at a reasonable price; the command line has to do.
func startOf(int) string { return "" }

func (p observed) names(_ context.Context, path string) bool { return mentions(p.text, path) }

func (p observed) kill() error {
	if err := unix.Kill(p.pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil
}

func (p observed) alive() bool { return unix.Kill(p.pid, 0) == nil }
