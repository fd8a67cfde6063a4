package bundle

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// machine adds what is not about any sandbox.
func (r *report) machine(ctx context.Context) {
	r.Step("this machine")
	limited, cancel := context.WithTimeout(ctx, r.Patience)
	defer cancel()
	r.object("version.json", "this program and what is built into it", r.Version(limited), nil)
	r.object("doctor.json", "what doctor found", r.Findings, nil)
	r.object("machine.json", "kernel, system, limits", facts(), nil)
}

// machineFacts are what runs this program.
type machineFacts struct {
	Kernel string `json:"kernel,omitempty"`
	System string `json:"system,omitempty"`
	CPUs   int    `json:"cpus"`
	Root   bool   `json:"root"`
	// Limits are of a process; soft ones, -1 is none.
	Limits map[string]int64 `json:"limits"`
	// Files are short ones of the kernel's, by path.
	Files map[string]string `json:"files,omitempty"`
}

func facts() machineFacts {
	f := machineFacts{CPUs: runtime.NumCPU(), Root: os.Geteuid() == 0, Limits: map[string]int64{}, Files: map[string]string{}}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		f.Kernel = strings.Join([]string{text(u.Sysname[:]), text(u.Release[:]), text(u.Version[:]), text(u.Machine[:])}, " ")
	}
	for name, number := range map[string]int{"open-files": unix.RLIMIT_NOFILE, "processes": unix.RLIMIT_NPROC, "memory": unix.RLIMIT_AS} {
		var l unix.Rlimit
		if unix.Getrlimit(number, &l) == nil {
			f.Limits[name] = int64(l.Cur)
		}
	}
	release, _ := os.ReadFile("/etc/os-release") // other systems have none
	for line := range strings.Lines(string(release)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			f.System = strings.Trim(name, `"`)
		}
	}
	for _, path := range []string{
		"/proc/meminfo", "/proc/loadavg", "/proc/sys/fs/inotify/max_user_instances", "/proc/sys/fs/inotify/max_user_watches", "/proc/sys/fs/file-max",
		"/proc/sys/net/ipv4/ip_local_port_range", "/proc/self/cgroup", "/sys/fs/cgroup/cgroup.controllers", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/pids.max",
	} {
		if text, err := os.ReadFile(path); err == nil {
			f.Files[path] = string(bytes.TrimSpace(text[:min(len(text), 4096)]))
		}
	}
	return f
}

// text is a C string.
func text[T byte | int8](c []T) string {
	var b strings.Builder
	for _, x := range c {
		if x == 0 {
			break
		}
		b.WriteByte(byte(x))
	}
	return b.String()
}
