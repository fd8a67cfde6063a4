package preflight

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/loopback"
)

// Host is what [Check] reads of a machine. [Here] returns that of this process; tests make one of data.
type Host struct {
	// FS is the root of the file system: /proc and /sys are read.
	FS fs.FS
	// UID is the effective user.
	UID int
	// Limit returns the limit of a resource, as unix.RLIMIT_NOFILE, for this process; [math.MaxUint64] is none.
	Limit func(resource int) (uint64, error)
	// Disk returns the free bytes and inodes for a directory, or for what will be its parent; [math.MaxUint64] inodes is a
	// file system that does not count them.
	Disk func(dir string) (free, inodes uint64, err error)
	// Listen opens the listeners of vCenters, as [loopback.Listen] does, and closes them.
	Listen func(ctx context.Context, at loopback.Place, n int) error
	// Dial connects to a temporary listener at 127.0.0.1.
	Dial func(ctx context.Context) error
}

// Here returns this machine.
func Here() Host {
	return Host{FS: os.DirFS("/"), UID: os.Geteuid(), Limit: limit, Disk: disk, Listen: listen, Dial: dial}
}

// limit reads the soft limit. That of open files is the hard one: Go raises it when a process starts.
func limit(resource int) (uint64, error) {
	var l unix.Rlimit
	if err := unix.Getrlimit(resource, &l); err != nil {
		return 0, err
	}
	if l.Cur > math.MaxInt64 { // RLIM_INFINITY
		return math.MaxUint64, nil
	}
	return l.Cur, nil
}

func disk(dir string) (free, inodes uint64, err error) {
	var s unix.Statfs_t
	for {
		err := unix.Statfs(dir, &s)
		if parent := filepath.Dir(dir); errors.Is(err, fs.ErrNotExist) && parent != dir {
			dir = parent
			continue
		}
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %w", dir, err)
		}
		inodes = s.Ffree
		if s.Files == 0 { // btrfs
			inodes = math.MaxUint64
		}
		return s.Bavail * uint64(s.Bsize), inodes, nil
	}
}

func listen(ctx context.Context, at loopback.Place, n int) error {
	all, _, err := loopback.Listen(ctx, at, n)
	loopback.Close(all)
	return err
}

// dialTime is how long a connection on loopback may take.
const dialTime = 5 * time.Second

func dial(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
	if err != nil {
		return err
	}
	return c.Close()
}

// number reads a file that has a number; false when it has none, or says "max".
func (m Host) number(name string) (uint64, bool) {
	text, err := fs.ReadFile(m.FS, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}

// field reads the first number after a name at the beginning of a line.
func (m Host) field(file, name string) (uint64, bool) {
	text, err := fs.ReadFile(m.FS, file)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(line, name)
		words := strings.Fields(rest)
		if !ok || len(words) == 0 {
			continue
		}
		n, err := strconv.ParseUint(words[0], 10, 64)
		return n, err == nil
	}
	return 0, false
}

// own lists the folders in /proc of this user's processes.
func (m Host) own() []string {
	entries, err := fs.ReadDir(m.FS, "proc")
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		dir := path.Join("proc", e.Name())
		if uid, ok := m.field(dir+"/status", "Uid:"); ok && uid == uint64(m.UID) {
			list = append(list, dir)
		}
	}
	return list
}

// cgroups lists the folders of a controller's control groups that this process is in, its own first and then those above,
// and says which version they are of.
func (m Host) cgroups(controller string) (dirs []string, version int) {
	groups, err := fs.ReadFile(m.FS, "proc/self/cgroup")
	if err != nil {
		return nil, 0
	}
	mounts, err := fs.ReadFile(m.FS, "proc/self/mountinfo")
	if err != nil {
		return nil, 0
	}
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // hierarchy:controllers:path
		if len(fields) < 3 {
			continue
		}
		version := 1
		switch {
		case fields[0] == "0" && fields[1] == "":
			version = 2
		case !has(fields[1], controller):
			continue
		}
		root, at, ok := mounted(string(mounts), controller, version)
		if !ok {
			continue
		}
		below := strings.TrimPrefix(fields[2], strings.TrimSuffix(root, "/"))
		for dir := path.Join(at, below); ; dir = path.Dir(dir) {
			dirs = append(dirs, strings.TrimPrefix(dir, "/"))
			if dir == at || len(dir) <= len(at) {
				break
			}
		}
		if version == 1 || m.holds(dirs, controller) {
			return dirs, version
		}
		dirs = nil // the controller is in a hierarchy of version 1
	}
	return nil, 0
}

// holds reports whether one of the folders has the controller's files.
func (m Host) holds(dirs []string, controller string) bool {
	for _, dir := range dirs {
		if _, err := fs.Stat(m.FS, path.Join(dir, controller+".max")); err == nil {
			return true
		}
	}
	return false
}

// mounted finds where the hierarchy of a controller is mounted, and which of its folders that is.
func mounted(mounts, controller string, version int) (root, at string, ok bool) {
	for line := range strings.Lines(mounts) {
		// 30 24 0:26 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw
		left, right, found := strings.Cut(strings.TrimSpace(line), " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !found || len(l) < 5 || len(r) < 3 {
			continue
		}
		if version == 2 && r[0] == "cgroup2" || version == 1 && r[0] == "cgroup" && has(r[2], controller) {
			return l[3], l[4], true
		}
	}
	return "", "", false
}

// has reports whether a list of words with commas between them has one.
func has(list, word string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if one == word {
			return true
		}
	}
	return false
}

func checkProcesses(_ context.Context, m Host, need Need) []Finding {
	free, what, try := uint64(math.MaxUint64), "", ""
	if n, err := m.Limit(unix.RLIMIT_NPROC); err == nil && n != math.MaxUint64 && m.UID != 0 { // root has no such limit
		var used uint64
		for _, dir := range m.own() {
			threads, _ := m.field(dir+"/status", "Threads:") // 0 of one that has just ended
			used += threads
		}
		free, what = n-min(n, used), fmt.Sprintf("a user may have %d processes and threads, and has %d", n, used)
		try = fmt.Sprintf("ulimit -u %d", round(used+need.Threads, 1024))
	}
	dirs, _ := m.cgroups("pids")
	for _, dir := range dirs {
		most, ok := m.number(path.Join(dir, "pids.max"))
		used, okUsed := m.number(path.Join(dir, "pids.current"))
		if left := most - min(most, used); ok && okUsed && left < free {
			free, what = left, fmt.Sprintf("the control group may have %d processes and threads, and has %d", most, used)
			try = fmt.Sprintf("raise pids.max in /%s to %d", dir, round(used+need.Threads, 1024))
		}
	}
	if what == "" {
		return nil
	}
	return one(Finding{Check: Processes, Verdict: Pass, Message: what}.compare(free, need.Threads, "; the sandbox needs %d", try))
}

func checkInotify(_ context.Context, m Host, need Need) []Finding {
	instances, setInstances, ok := m.inotify("fs.inotify.max_user_instances", "user.max_inotify_instances")
	watches, setWatches, okWatches := m.inotify("fs.inotify.max_user_watches", "user.max_inotify_watches")
	if !ok || !okWatches || need.Instances == 0 {
		return nil
	}
	var used, watched uint64
	for _, dir := range m.own() {
		entries, _ := fs.ReadDir(m.FS, dir+"/fd") // none of a process that has ended, or is another's
		for _, e := range entries {
			if to, err := fs.ReadLink(m.FS, dir+"/fd/"+e.Name()); err != nil || !strings.HasSuffix(to, "inotify") {
				continue
			}
			used++
			info, _ := fs.ReadFile(m.FS, dir+"/fdinfo/"+e.Name())
			watched += uint64(strings.Count(string(info), "inotify wd:"))
		}
	}
	left := func(most, used uint64) uint64 { return most - min(most, used) }
	f := Finding{Check: Inotify, Verdict: Pass, Message: fmt.Sprintf("a user may have %d inotify instances, and has %d", instances, used)}
	f = f.compare(left(instances, used), need.Instances, "; the sandbox needs %d"+withoutInotify(instances < used+need.Instances),
		fmt.Sprintf("sudo sysctl %s=%d", setInstances, max(512, round(used+need.Instances, 512))))
	if f.Verdict == Fail {
		return one(f)
	}
	w := Finding{Check: Inotify, Verdict: Pass, Message: fmt.Sprintf("a user may have %d inotify watches, and has %d", watches, watched)}
	w = w.compare(left(watches, watched), need.Watches, "; the sandbox needs %d",
		fmt.Sprintf("sudo sysctl %s=%d", setWatches, round(watched+need.Watches, 8192)))
	if w.Verdict == Fail || f.Verdict == Pass && w.Verdict == Warn {
		return one(w)
	}
	return one(f)
}

// inotify returns the smaller of the limits for a user and for the users of this namespace, as of a rootless container, and the
// name of its setting.
func (m Host) inotify(user, namespace string) (most uint64, setting string, ok bool) {
	file := func(setting string) string { return "proc/sys/" + strings.ReplaceAll(setting, ".", "/") }
	most, ok = m.number(file(user))
	if n, known := m.number(file(namespace)); known && (!ok || n < most) {
		return n, namespace, true
	}
	return most, user, ok
}

// withoutInotify says what happens when instances are short.
func withoutInotify(short bool) string {
	if short {
		return ", or its nodes take no volumes"
	}
	return ""
}

func checkMemory(_ context.Context, m Host, need Need) []Finding {
	free, what, try := uint64(0), "", "end other programs, or have fewer nodes or --light ones"
	if n, ok := m.field("proc/meminfo", "MemAvailable:"); ok {
		free, what = n*kib, "of memory available"
	}
	dirs, version := m.cgroups("memory")
	most, used, cache := "memory.max", "memory.current", "inactive_file "
	if version == 1 {
		most, used, cache = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "
	}
	for _, dir := range dirs {
		limit, ok := m.number(path.Join(dir, most))
		taken, okTaken := m.number(path.Join(dir, used))
		if !ok || !okTaken {
			continue
		}
		files, _ := m.field(path.Join(dir, "memory.stat"), cache) // the kernel gives them up first
		if left := limit - min(limit, taken-min(taken, files)); what == "" || left < free {
			free, what = left, "of memory left in the control group, which may have "+bytes(limit)
			try = fmt.Sprintf("raise %s in /%s, or have fewer nodes or --light ones", most, dir)
		}
	}
	if what == "" {
		return nil
	}
	f := Finding{Check: Memory, Verdict: Pass, Message: bytes(free) + " " + what}
	if free < need.Memory {
		f.Verdict, f.Try = Warn, try
		f.Message += fmt.Sprintf(", and the sandbox takes about %s: %s short", bytes(need.Memory), bytes(need.Memory-free))
	}
	if free < need.Memory/2 { // the estimate is rough
		f.Verdict = Fail
	}
	return one(f)
}
