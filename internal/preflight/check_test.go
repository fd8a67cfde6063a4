package preflight

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/loopback"
)

var update = flag.Bool("update", false, "rewrite golden files")

// machine is a machine of data with plenty of everything, of user 1000.
func machine() Host {
	return Host{
		UID: 1000,
		FS: fstest.MapFS{
			"proc/meminfo":                             text("MemTotal: 16000000 kB\nMemAvailable:    8388608 kB\n"),
			"proc/self/cgroup":                         text("0::/user.slice/app.scope\n"),
			"proc/self/mountinfo":                      text("30 24 0:26 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n"),
			"sys/fs/cgroup/user.slice/pids.max":        text("max\n"),
			"sys/fs/cgroup/user.slice/pids.current":    text("300\n"),
			"sys/fs/cgroup/user.slice/memory.max":      text("max\n"),
			"sys/fs/cgroup/user.slice/memory.current":  text("1\n"),
			"proc/sys/fs/inotify/max_user_instances":   text("128\n"),
			"proc/sys/fs/inotify/max_user_watches":     text("65536\n"),
			"proc/4711/status":                         text("Name:\tnginx\nUid:\t1000\t1000\t1000\t1000\nThreads:\t4\n"),
			"proc/4711/comm":                           text("nginx\n"),
			"proc/4711/fd/5":                           link("socket:[31337]"),
			"proc/4711/fd/6":                           link("anon_inode:inotify"),
			"proc/4711/fdinfo/6":                       text("pos:\t0\ninotify wd:2 ino:1\ninotify wd:1 ino:2\n"),
			"proc/1/status":                            text("Uid:\t0\t0\t0\t0\nThreads:\t900\n"),
			"proc/net/tcp":                             text("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   0: 00000000:231D 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 31337 1\n   1: 0100007F:192B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 99 1\n"),
			"sys/fs/cgroup/user.slice/app.scope/dummy": text(""),
		},
		Limit:  func(int) (uint64, error) { return math.MaxUint64, nil },
		Disk:   func(string) (uint64, uint64, error) { return 100 * gib, math.MaxUint64, nil },
		Listen: func(context.Context, loopback.Place, int) error { return nil },
		Dial:   func(context.Context) error { return nil },
	}
}

func text(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
func link(to string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink | 0o777}
}

// limited has a limit of one resource, of the machine's others none.
func limited(resource int, n uint64) func(int) (uint64, error) {
	return func(r int) (uint64, error) {
		if r == resource {
			return n, nil
		}
		return math.MaxUint64, nil
	}
}

func put(files map[string]string) func(*Host) {
	return func(m *Host) {
		for name, s := range files {
			m.FS.(fstest.MapFS)[name] = text(s)
		}
	}
}

func inUse(address string) error {
	a, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return err
	}
	return &net.OpError{Op: "listen", Net: "tcp", Addr: a, Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}
}

// six is a sandbox of six nodes.
func six() Need {
	return NeedOf(Size{Cluster: true, Nodes: 6, VMs: 6, CSI: true, CCMs: 1, VCenters: 2, Dir: "/state"}, 4)
}

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Host)
		need   func(*Need)
		// check, verdict and words are of the one finding that is not a pass; none when verdict is "".
		check   string
		verdict Verdict
		words   []string
		try     string
	}{
		{name: "plenty"},
		{
			name: "loopback is down", change: func(m *Host) { m.Dial = func(context.Context) error { return syscall.ENETUNREACH } },
			check: Loopback, verdict: Fail, words: []string{"127.0.0.1 cannot be connected to: network is unreachable"}, try: "sudo ip link set lo up",
		},
		{
			name: "one address", change: func(m *Host) {
				m.Listen = func(_ context.Context, at loopback.Place, _ int) error {
					if len(at.Addresses) > 0 && strings.HasPrefix(at.Addresses[0], "127.0.0.2:") {
						return syscall.EADDRNOTAVAIL
					}
					return nil
				}
			},
			check: Loopback, verdict: Warn, words: []string{"vCenters share 127.0.0.1"},
		},
		{
			name: "port taken everywhere", change: func(m *Host) {
				m.Listen = func(_ context.Context, at loopback.Place, n int) error {
					if len(at.Addresses) > 0 {
						return nil
					}
					return &loopback.PortError{Port: 8989}
				}
			},
			check: Ports, verdict: Fail, words: []string{"port 8989 is in use on every loopback address, by nginx (process 4711)"}, try: "--vcenter-port 0",
		},
		{
			name: "port of the API server, of another user", need: func(n *Need) { n.APIPort = 6443 }, change: func(m *Host) {
				m.Listen = func(_ context.Context, at loopback.Place, _ int) error {
					if len(at.Addresses) == 1 && at.Addresses[0] == "127.0.0.1:6443" {
						return inUse(at.Addresses[0])
					}
					return nil
				}
			},
			check: Ports, verdict: Fail, words: []string{"127.0.0.1:6443 is in use, by a process of another user"}, try: "--api-port 0",
		},
		{
			name: "addresses of a stopped sandbox", need: func(n *Need) { n.Place.Addresses, n.Stopped = []string{"127.0.0.11:8989"}, true }, change: func(m *Host) {
				m.Listen = func(_ context.Context, at loopback.Place, _ int) error {
					if len(at.Addresses) == 1 && at.Addresses[0] == "127.0.0.11:8989" {
						return inUse(at.Addresses[0])
					}
					return nil
				}
			},
			check: Ports, verdict: Fail, words: []string{"127.0.0.11:8989 is in use"}, try: "vsphere-sandbox list",
		},
		{
			name: "files", change: func(m *Host) { m.Limit = limited(unix.RLIMIT_NOFILE, 64) },
			check: OpenFiles, verdict: Fail, words: []string{"64 files open", "needs 232", "168 short"}, try: "ulimit -n 4096",
		},
		{
			name: "processes of the user", change: func(m *Host) { m.Limit = limited(unix.RLIMIT_NPROC, 100) },
			check: Processes, verdict: Fail, words: []string{"may have 100", "has 4", "needs 170", "74 short"}, try: "ulimit -u 1024",
		},
		{name: "processes of root", change: func(m *Host) { m.UID, m.Limit = 0, limited(unix.RLIMIT_NPROC, 1) }},
		{
			name: "processes of the control group above", change: put(map[string]string{"sys/fs/cgroup/user.slice/pids.max": "310\n", "sys/fs/cgroup/pids.max": "400"}),
			check: Processes, verdict: Fail, words: []string{"control group may have 310", "has 300", "160 short"}, try: "raise pids.max in /sys/fs/cgroup/user.slice to 1024",
		},
		{
			name: "inotify instances", change: put(map[string]string{"proc/sys/fs/inotify/max_user_instances": "10\n"}),
			check: Inotify, verdict: Fail, words: []string{"may have 10 inotify instances, and has 1", "needs 18", "9 short"}, try: "sudo sysctl fs.inotify.max_user_instances=512",
		},
		{
			name: "inotify watches", change: put(map[string]string{"proc/sys/fs/inotify/max_user_watches": "20\n"}),
			check: Inotify, verdict: Fail, words: []string{"20 inotify watches, and has 2", "needs 25", "7 short"}, try: "sudo sysctl fs.inotify.max_user_watches=8192",
		},
		{
			name: "files, just enough", change: func(m *Host) { m.Limit = limited(unix.RLIMIT_NOFILE, 256) },
			check: OpenFiles, verdict: Warn, words: []string{"256 files open", "needs 232: 24 are left"}, try: "ulimit -n 4096",
		},
		{
			name: "processes, just enough", change: func(m *Host) { m.Limit = limited(unix.RLIMIT_NPROC, 190) },
			check: Processes, verdict: Warn, words: []string{"may have 190", "has 4", "needs 170: 16 are left"}, try: "ulimit -u 1024",
		},
		{
			name: "inotify instances of the user namespace", change: put(map[string]string{"proc/sys/user/max_inotify_instances": "10\n", "proc/sys/user/max_inotify_watches": "65536\n"}),
			check: Inotify, verdict: Fail, words: []string{"may have 10 inotify instances", "9 short"}, try: "sysctl user.max_inotify_instances=512",
		},
		{
			name: "inotify instances, just enough", change: put(map[string]string{"proc/sys/fs/inotify/max_user_instances": "20\n"}),
			check: Inotify, verdict: Warn, words: []string{"may have 20 inotify instances, and has 1", "needs 18: 1 is left"}, try: "sudo sysctl fs.inotify.max_user_instances=512",
		},
		{
			name: "inotify watches, just enough", change: put(map[string]string{"proc/sys/fs/inotify/max_user_watches": "27\n"}),
			check: Inotify, verdict: Warn, words: []string{"27 inotify watches, and has 2", "needs 25: 0 are left"}, try: "sudo sysctl fs.inotify.max_user_watches=8192",
		},
		{
			name: "mapped memory", change: func(m *Host) { m.Limit = limited(unix.RLIMIT_AS, 4*gib) },
			check: AddressSpace, verdict: Fail, words: []string{"may map 4Gi", "maps 12Gi", "8Gi short"}, try: "ulimit -v unlimited",
		},
		{
			name: "somewhat little memory", change: put(map[string]string{"proc/meminfo": "MemAvailable: 524288 kB\n"}),
			check: Memory, verdict: Warn, words: []string{"512Mi of memory available", "takes about 706Mi", "194Mi short"}, try: "fewer nodes",
		},
		{
			name: "far too little memory", change: put(map[string]string{"proc/meminfo": "MemAvailable: 262144 kB\n"}),
			check: Memory, verdict: Fail, words: []string{"256Mi of memory available"}, try: "fewer nodes",
		},
		{
			name: "memory of a control group", change: put(map[string]string{
				"sys/fs/cgroup/user.slice/memory.max": "536870912\n", "sys/fs/cgroup/user.slice/memory.current": "471859200\n",
				"sys/fs/cgroup/user.slice/memory.stat": "anon 1\ninactive_file 104857600\n", "sys/fs/cgroup/memory.max": "max",
			}),
			check: Memory, verdict: Fail, words: []string{"162Mi of memory left in the control group, which may have 512Mi"}, try: "raise memory.max in /sys/fs/cgroup/user.slice",
		},
		{
			name: "memory of a control group of version 1", change: put(map[string]string{
				"proc/self/cgroup": "4:memory:/docker/abc\n0::/\n", "proc/self/mountinfo": "9 8 0:1 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes": "104857600\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "52428800\n",
				"sys/fs/cgroup/memory/memory.stat": "total_inactive_file 0\n",
			}),
			check: Memory, verdict: Fail, words: []string{"50Mi of memory left in the control group, which may have 100Mi"}, try: "raise memory.limit_in_bytes in /sys/fs/cgroup/memory,",
		},
		{
			name: "disk", change: func(m *Host) { m.Disk = func(string) (uint64, uint64, error) { return 100 * mib, 1 << 20, nil } },
			check: Disk, verdict: Fail, words: []string{"100Mi free for the state directory", "a boot writes 126Mi", "26Mi short"}, try: "VSPHERE_SANDBOX_STATE",
		},
		{
			name: "disk that fills up", change: func(m *Host) { m.Disk = func(string) (uint64, uint64, error) { return 300 * mib, 1 << 20, nil } },
			check: Disk, verdict: Warn, words: []string{"300Mi free", "grow by up to 512Mi"}, try: "VSPHERE_SANDBOX_STATE",
		},
		{
			name: "inodes", change: func(m *Host) { m.Disk = func(string) (uint64, uint64, error) { return gib, 100, nil } },
			check: Disk, verdict: Fail, words: []string{"100 inodes of the 308", "208 short"}, try: "VSPHERE_SANDBOX_STATE",
		},
		{name: "nothing can be read", change: func(m *Host) {
			m.FS = fstest.MapFS{}
			m.Limit = func(int) (uint64, error) { return 0, errors.ErrUnsupported }
			m.Disk = func(string) (uint64, uint64, error) { return 0, 0, errors.ErrUnsupported }
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, need := machine(), six()
			if tc.change != nil {
				tc.change(&m)
			}
			if tc.need != nil {
				tc.need(&need)
			}
			var bad []Finding
			for _, f := range Check(t.Context(), m, need) {
				if f.Verdict != Pass {
					bad = append(bad, f)
				} else if f.Try != "" {
					t.Errorf("advice without need: %+v", f)
				}
			}
			if tc.verdict == "" {
				if len(bad) > 0 {
					t.Errorf("found %+v", bad)
				}
				return
			}
			if len(bad) != 1 || bad[0].Check != tc.check || bad[0].Verdict != tc.verdict || !strings.Contains(bad[0].Try, tc.try) {
				t.Fatalf("found %+v", bad)
			}
			for _, words := range tc.words {
				if !strings.Contains(bad[0].Message, words) {
					t.Errorf("%q does not say %q", bad[0].Message, words)
				}
			}
		})
	}
}

// All shortages are found at once, in the order of the names.
func TestAllAtOnce(t *testing.T) {
	m := machine()
	m.Limit = func(int) (uint64, error) { return 90, nil }
	m.Disk = func(string) (uint64, uint64, error) { return mib, 9, nil }
	m.Dial = func(context.Context) error { return syscall.ENETUNREACH }
	m.Listen = func(context.Context, loopback.Place, int) error { return &loopback.PortError{Port: 8989} }
	put(map[string]string{"proc/meminfo": "MemAvailable: 1024 kB\n", "proc/sys/fs/inotify/max_user_instances": "1\n"})(&m)
	var b strings.Builder
	names := Names()
	for i, f := range Check(t.Context(), m, six()) {
		if f.Verdict != Fail || f.Check != names[i] {
			t.Errorf("%d: %+v", i, f)
		}
		fmt.Fprintf(&b, "%s: %s\n  try: %s\n", f.Check, f.Message, f.Try)
	}
	golden := filepath.Join("testdata", "short.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What is needed is no less than what was measured: see [measured].
func TestNeedCoversMeasurements(t *testing.T) {
	cluster := func(nodes, light int, csi bool) Size {
		return Size{Cluster: true, Nodes: nodes, Light: light, VMs: nodes + light, CSI: csi, CCMs: 1}
	}
	for _, tc := range []struct {
		name                                                             string
		size                                                             Size
		cpus                                                             int
		files, threads, instances, watches, memory, mapped, disk, inodes uint64
	}{
		{"2 nodes", cluster(2, 0, true), 2, 224, 94, 14, 21, 574, 11925, 124, 131},
		{"2 nodes, 16 CPUs", cluster(2, 0, true), 16, 224, 164, 14, 21, 620, 11926, 124, 131},
		{"2 nodes, no CSI", cluster(2, 0, false), 2, 205, 45, 14, 21, 465, 11860, 123, 100},
		{"12 nodes", cluster(12, 0, true), 2, 225, 191, 24, 31, 882, 11991, 125, 401},
		{"40 nodes", cluster(40, 0, true), 2, 342, 437, 52, 59, 1522, 12058, 130, 1157},
		{"400 light", cluster(0, 400, true), 2, 193, 88, 12, 19, 951, 12190, 145, 2478},
		{"400 VMs alone", Size{VMs: 400}, 2, 18, 15, 0, 0, 149, 1488, 7, 4816},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := NeedOf(tc.size, tc.cpus)
			for what, is := range map[string][2]uint64{
				"files": {tc.files, n.Files}, "instances": {tc.instances, n.Instances}, "watches": {tc.watches, n.Watches},
				"memory": {tc.memory * mib * 9 / 10, n.Memory}, "mapped": {tc.mapped * mib, n.AddressSpace}, "disk": {tc.disk * mib, n.Disk}, "inodes": {tc.inodes, n.Inodes},
			} {
				if is[1] < is[0] {
					t.Errorf("%s: needs %d, and %d were measured", what, is[1], is[0])
				}
			}
			if n.Threads < tc.threads {
				t.Errorf("threads: needs %d, and %d were measured", n.Threads, tc.threads)
			}
		})
	}
}

// This machine can be read, and a port that is taken is found with the process that has it: this one.
func TestHere(t *testing.T) {
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	found := map[string]Finding{}
	need := NeedOf(Size{VCenters: 1, Place: loopback.Place{Port: port}, Dir: filepath.Join(t.TempDir(), "not", "there")}, 1)
	for _, f := range Check(t.Context(), Here(), need) {
		found[f.Check] = f
	}
	f := found[Ports]
	if f.Verdict != Fail || !strings.Contains(f.Message, strconv.Itoa(port)) {
		t.Errorf("found %+v", f)
	}
	if _, err := os.Stat("/proc/self/fd"); err == nil && !strings.Contains(f.Message, fmt.Sprintf("(process %d)", os.Getpid())) {
		t.Errorf("%q does not name this process, %d", f.Message, os.Getpid())
	}
	for _, name := range []string{Loopback, OpenFiles, Disk} {
		if found[name].Message == "" {
			t.Errorf("%s is not checked", name)
		}
	}
}
