package instance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// processes lists all processes that are not zombies.
func processes(context.Context) ([]observed, error) {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var all []observed
	for _, name := range names {
		if pid, err := strconv.Atoi(name.Name()); err == nil {
			if p, ok := observe(pid); ok {
				all = append(all, p)
			}
		}
	}
	return all, nil
}

// observe reads /proc/<pid>/stat: pid (command) state ppid pgrp … starttime;
// see proc_pid_stat(5). The command may have spaces and parentheses in it.
func observe(pid int) (observed, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return observed{}, false
	}
	stat := string(text)
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const state, pgrp, starttime = 0, 2, 19
	if len(fields) <= starttime || fields[state] == "Z" || fields[state] == "X" {
		return observed{}, false
	}
	pgid, err := strconv.Atoi(fields[pgrp])
	if err != nil {
		return observed{}, false
	}
	return observed{pid: pid, pgid: pgid, start: fields[starttime]}, true
}

// Suspended reports whether a process is stopped, as by Ctrl-Z. It is false for one that does not exist.
func Suspended(_ context.Context, pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil || pid <= 0 {
		return false
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	return len(fields) > 0 && fields[0] == "T"
}

// startOf returns when the process was started, in ticks since the machine was.
func startOf(pid int) string {
	p, _ := observe(pid)
	return p.start
}

// names reports whether the process names path. What cannot be read, since it is another user's or gone, does not.
func (p observed) names(_ context.Context, path string) bool {
	for _, file := range []string{"cmdline", "environ"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.pid, file))
		if err == nil && mentions(string(text), path) {
			return true
		}
	}
	return false
}

// kill kills the process, and no other: a descriptor of it is taken first, and
// then looked at again whether it is the one.
func (p observed) kill() error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		return nil
	case err != nil: // not allowed in this container, or Linux before 5.3
		fd = -1
	default:
		defer func() { _ = unix.Close(fd) }()
	}
	if !p.alive() {
		return nil
	}
	if fd < 0 {
		err = unix.Kill(p.pid, unix.SIGKILL)
	} else {
		err = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

func (p observed) alive() bool {
	now, ok := observe(p.pid)
	return ok && now.start == p.start
}
