package preflight

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/loopback"
)

// Verdict is what a check comes to.
type Verdict string

// The verdicts.
const (
	Pass Verdict = "pass"
	Warn Verdict = "warn" // a sandbox boots, and it or the next one may run short later
	Fail Verdict = "fail" // a sandbox does not boot, or does not work
)

// Finding is what a check found.
type Finding struct {
	// Check is one of [Names].
	Check   string
	Verdict Verdict
	// Message says what there is; where that is short, also what is needed and by how much it is short.
	Message string
	// Try is what to set, "" when nothing is short.
	Try string
}

// The names of the checks.
const (
	Loopback     = "loopback"
	Ports        = "ports"
	OpenFiles    = "open-files"
	Processes    = "processes"
	Inotify      = "inotify"
	AddressSpace = "address-space"
	Memory       = "memory"
	Disk         = "disk"
)

// Names are those of all checks, in the order of [Check].
func Names() []string {
	return []string{Loopback, Ports, OpenFiles, Processes, Inotify, AddressSpace, Memory, Disk}
}

// Check compares what a sandbox needs with what a machine has. It returns a finding for each thing that it could read, in
// the order of [Names], and makes nothing. It takes as long as a connection on loopback that is not answered: five seconds.
func Check(ctx context.Context, m Host, need Need) []Finding {
	var found []Finding
	for _, check := range []func(context.Context, Host, Need) []Finding{
		checkLoopback, checkPorts, checkFiles, checkProcesses, checkInotify, checkAddressSpace, checkMemory, checkDisk,
	} {
		found = append(found, check(ctx, m, need)...)
	}
	return found
}

func one(f Finding) []Finding { return []Finding{f} }

func checkLoopback(ctx context.Context, m Host, _ Need) []Finding {
	if err := m.Dial(ctx); err != nil {
		return one(Finding{
			Check: Loopback, Verdict: Fail, Message: fmt.Sprintf("127.0.0.1 cannot be connected to: %v", err), Try: "sudo ip link set lo up",
		})
	}
	if err := m.Listen(ctx, loopback.Place{Addresses: []string{"127.0.0.2:0"}}, 1); err != nil {
		return one(Finding{
			Check: Loopback, Verdict: Warn, Message: "127.0.0.2 cannot be listened on: vCenters share 127.0.0.1, each with a separate port",
		})
	}
	return one(Finding{Check: Loopback, Verdict: Pass, Message: "127.0.0.2 and up can be listened on: every vCenter gets its own address"})
}

func checkFiles(_ context.Context, m Host, need Need) []Finding {
	n, err := m.Limit(unix.RLIMIT_NOFILE)
	if err != nil {
		return nil
	}
	f := Finding{Check: OpenFiles, Verdict: Pass, Message: "a process may have " + count(n, "files") + " open"}
	return one(f.compare(n, need.Files, ", and one of the sandbox needs %d", fmt.Sprintf("ulimit -n %d", round(need.Files, 4096))))
}

// compare completes a finding that passes: it fails when less is free than needed, and warns when less than a quarter of the need
// would be left. Needs is the format that names the need.
func (f Finding) compare(free, need uint64, needs, try string) Finding {
	switch {
	case free < need:
		f.Verdict, f.Try = Fail, try
		f.Message += fmt.Sprintf(needs+": %d short", need, need-free)
	case free-need < need/4:
		f.Verdict, f.Try = Warn, try
		f.Message += fmt.Sprintf(needs+": %d are left", need, free-need)
		if free-need == 1 {
			f.Message = strings.TrimSuffix(f.Message, "are left") + "is left"
		}
	}
	return f
}

func checkAddressSpace(_ context.Context, m Host, need Need) []Finding {
	n, err := m.Limit(unix.RLIMIT_AS)
	if err != nil || n >= need.AddressSpace {
		return nil // mostly there is no limit, and nothing to say
	}
	return one(Finding{
		Check: AddressSpace, Verdict: Fail, Try: "ulimit -v unlimited",
		Message: fmt.Sprintf("a process may map %s of memory, and one of the sandbox maps %s: %s short", bytes(n), bytes(need.AddressSpace), bytes(need.AddressSpace-n)),
	})
}

// enough is how much disk leaves room for what a sandbox writes after its boot: events, a recording, logs.
const enough = 512 * mib

func checkDisk(_ context.Context, m Host, need Need) []Finding {
	free, inodes, err := m.Disk(need.Dir)
	if err != nil {
		return nil
	}
	f := Finding{Check: Disk, Verdict: Pass, Message: bytes(free) + " free for the state directory", Try: elsewhere}
	switch {
	case free < need.Disk:
		f.Verdict = Fail
		f.Message += fmt.Sprintf(", and a boot writes %s: %s short", bytes(need.Disk), bytes(need.Disk-free))
	case inodes < need.Inodes:
		f.Verdict = Fail
		f.Message += fmt.Sprintf(", but %d inodes of the %d that a boot takes: %d short", inodes, need.Inodes, need.Inodes-inodes)
	case free < need.Disk+enough:
		f.Verdict = Warn
		f.Message += fmt.Sprintf("; a boot writes %s, and events, a recording and logs grow by up to %s", bytes(need.Disk), bytes(enough))
	default:
		f.Try = ""
	}
	return one(f)
}

// elsewhere is what to do about a disk.
const elsewhere = "free some space, or export VSPHERE_SANDBOX_STATE=DIRECTORY"

// round rounds up to a multiple of unit.
func round(n, unit uint64) uint64 { return (n + unit - 1) / unit * unit }

func count(n uint64, noun string) string {
	if n == math.MaxUint64 {
		return "any number of " + noun
	}
	return strconv.FormatUint(n, 10) + " " + noun
}

// bytes writes a number of bytes with three digits or less before the unit.
func bytes(n uint64) string {
	for _, unit := range []struct {
		size uint64
		name string
	}{{gib, "Gi"}, {mib, "Mi"}, {kib, "Ki"}} {
		if n >= unit.size {
			if n < 10*unit.size {
				return strconv.FormatFloat(math.Floor(float64(n)*10/float64(unit.size))/10, 'f', -1, 64) + unit.name
			}
			return strconv.FormatUint(n/unit.size, 10) + unit.name
		}
	}
	return strconv.FormatUint(n, 10)
}

func checkPorts(ctx context.Context, m Host, need Need) []Finding {
	var taken []Finding
	check := func(at loopback.Place, n int, try string) {
		err := m.Listen(ctx, at, n)
		if !errors.Is(err, syscall.EADDRINUSE) {
			return // another error is of the loopback check, or of the boot, which has words for it
		}
		var everywhere *loopback.PortError
		var one *net.OpError
		f := Finding{Check: Ports, Verdict: Fail, Message: err.Error(), Try: try}
		switch {
		case errors.As(err, &everywhere):
			f.Message = err.Error() + m.holders(netip.AddrPortFrom(netip.IPv4Unspecified(), uint16(everywhere.Port)))
		case errors.As(err, &one) && one.Addr != nil:
			if address, perr := netip.ParseAddrPort(one.Addr.String()); perr == nil {
				f.Message = fmt.Sprintf("%s is in use%s", address, m.holders(address))
			}
		}
		taken = append(taken, f)
	}
	if need.VCenters > 0 {
		try := "--vcenter-port 0   # any free one"
		switch {
		case need.Stopped:
			try = "vsphere-sandbox list   # a sandbox that runs there has to be stopped first"
		case len(need.Place.Addresses) > 0:
			try = "--listen 127.0.0.1:0   # any free one"
		}
		check(need.Place, need.VCenters, try)
	}
	if need.APIPort > 0 {
		check(loopback.Place{Addresses: []string{net.JoinHostPort("127.0.0.1", strconv.Itoa(need.APIPort))}}, 1, "--api-port 0   # any free one")
	}
	if len(taken) == 0 {
		return one(Finding{Check: Ports, Verdict: Pass, Message: "the ports are free"})
	}
	return taken
}

// holders says which processes listen at an address, as ", by nginx (process 4711)"; "" when that cannot be read.
func (m Host) holders(address netip.AddrPort) string {
	sockets := map[string]bool{}
	for _, file := range []string{"proc/net/tcp", "proc/net/tcp6"} {
		text, _ := fs.ReadFile(m.FS, file) // without it nothing is known
		for line := range strings.Lines(string(text)) {
			// sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode
			fields := strings.Fields(line)
			if len(fields) < 10 || fields[3] != "0A" { // TCP_LISTEN
				continue
			}
			if at, ok := parse(fields[1]); ok && at.Port() == address.Port() && (at.Addr().IsUnspecified() || at.Addr() == address.Addr()) {
				sockets["socket:["+fields[9]+"]"] = true
			}
		}
	}
	if len(sockets) == 0 {
		return ""
	}
	var names []string
	entries, _ := fs.ReadDir(m.FS, "proc")
	for _, e := range entries {
		dir := path.Join("proc", e.Name())
		files, _ := fs.ReadDir(m.FS, dir+"/fd") // another user's are not shown
		for _, f := range files {
			if to, err := fs.ReadLink(m.FS, dir+"/fd/"+f.Name()); err == nil && sockets[to] && e.Name() != "self" && e.Name() != "thread-self" {
				name, _ := fs.ReadFile(m.FS, dir+"/comm")
				names = append(names, fmt.Sprintf("%s (process %s)", printable(string(name)), e.Name()))
				break
			}
		}
	}
	if len(names) == 0 {
		return ", by a process of another user"
	}
	slices.Sort(names)
	return ", by " + strings.Join(names, ", ")
}

// printable is the name of a process, which it chooses itself, without what a terminal would obey.
func printable(name string) string {
	return strings.Trim(strconv.QuoteToASCII(strings.TrimSpace(name)), `"`)
}

// parse reads an address of /proc/net/tcp: "0100007F:1F90", in which the bytes of each four are the machine's.
func parse(text string) (netip.AddrPort, bool) {
	host, port, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(host)
	n, perr := strconv.ParseUint(port, 16, 16)
	if err != nil || perr != nil || len(b)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(b); i += 4 { // Linux on amd64 and arm64 is little-endian
		slices.Reverse(b[i : i+4])
	}
	address, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(address.Unmap(), uint16(n)), ok
}

// Size is what a sandbox consists of, as far as limits go.
type Size struct {
	// Cluster: it has the embedded control plane. Without it the sandbox is one process, and what its cluster takes is not
	// counted.
	Cluster bool
	// Nodes have a kubelet process each; Light ones share a process. VMs are all of the simulated vCenters.
	Nodes, Light, VMs int
	// CSI: it has the CSI driver and its sidecars.
	CSI bool
	// CCMs is the number of replicas of the cloud controller manager.
	CCMs int

	// VCenters is the number of vCenters, and Place where they listen. Stopped: those are the addresses of a sandbox that was
	// stopped, and no others will do.
	VCenters int
	Place    loopback.Place
	Stopped  bool
	// APIPort is the port of the API server on 127.0.0.1; 0 is a free one.
	APIPort int
	// Dir is the state directory, which need not exist.
	Dir string
}

// Need is what a sandbox of a [Size] takes.
type Need struct {
	Size
	// Files is how many files its largest process has open.
	Files uint64
	// Threads is how many threads all of its processes have: limits of processes count threads.
	Threads uint64
	// Instances and Watches are those of inotify, of all of its processes.
	Instances, Watches uint64
	// Memory is what all of its processes take together, AddressSpace what the largest one maps, Disk what a boot writes; in
	// bytes.
	Memory, AddressSpace, Disk uint64
	// Inodes is the number of files and directories in its directory.
	Inodes uint64
}

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

// measured is what the parts of a sandbox take.
//
// Measured with "hack/limits up FILE", linux/amd64, GOMAXPROCS=2, Kubernetes v1.36.4, files as scenarios/single.yaml with
// 2, 12 and 40 workers, and with 400 workers and --light; --csi off with 2; "hack/limits vcenter up --vm 400"; each the
// largest value while it boots and five seconds after that:
//
//	                2 nodes  2, no CSI  12 nodes  40 nodes  400 light  400 VMs alone
//	files, sandbox       77         40       210       342         70             18
//	files, control plane 189       171       225       265        193              -
//	threads              94         45       191       437         88             15
//	inotify instances    14         14        24        52         12              0
//	inotify watches      21         21        31        59         19              0
//	memory, PSS MiB     574        465       882      1522        951            149
//	mapped, MiB       11925      11860     11991     12058      12190           1488
//	disk, MiB           124        123       125       130        145              7
//	inodes              131        100       401      1157       2478           4816
//
// With GOMAXPROCS=16, 2 nodes have 164 threads and the same of everything else.
//
// The control plane needs more files than it opens: etcd keeps 150 back. With "ulimit -n 196" its API server never answers,
// with 224 two nodes boot. With 11 inotify instances of the 14 that two nodes take, no node takes volumes.
type measured struct {
	files, filesCluster, filesPerNode uint64 // of the sandbox's process, alone and with a cluster
	controlFiles, controlFilesPerNode uint64 // of the control plane's
	threadsSandbox, threads           uint64 // of the sandbox's process and of another, beside one for every second CPU
	sidecars                          uint64 // processes of the CSI driver
	instances, instancesPerProcess    uint64 // of the control plane; of a kubelet or cloud controller manager
	watches, watchesPerNode           uint64
	memory, memoryCluster, memoryCSI  uint64
	memoryPerNode, memoryPerLight     uint64
	addressSpace, addressSpaceControl uint64
	disk, diskCluster                 uint64
	diskPerNode, diskPerLight         uint64
	diskPerVM                         uint64
	inodes, inodesCluster             uint64
	inodesPerNode, inodesPerVM        uint64
}

func table() measured {
	return measured{
		files: 20, filesCluster: 130, filesPerNode: 7,
		controlFiles: 220, controlFilesPerNode: 2,
		threadsSandbox: 14, threads: 8, sidecars: 6,
		instances: 11, instancesPerProcess: 1,
		watches: 19, watchesPerNode: 1,
		memory: 150 * mib, memoryCluster: 260 * mib, memoryCSI: 110 * mib,
		memoryPerNode: 31 * mib, memoryPerLight: 1110 * kib,
		addressSpace: 3 * gib / 2, addressSpaceControl: 12 * gib,
		disk: mib, diskCluster: 124 * mib,
		diskPerNode: 200 * kib, diskPerLight: 50 * kib,
		diskPerVM: 16 * kib,
		inodes:    30, inodesCluster: 80,
		inodesPerNode: 21, inodesPerVM: 12,
	}
}

// NeedOf works out what a sandbox takes on a machine that runs so many threads at once.
func NeedOf(s Size, cpus int) Need {
	m := table()
	nodes, light, vms, ccms := uint64(s.Nodes), uint64(s.Light), uint64(s.VMs), uint64(s.CCMs)
	n := Need{
		Size:  s,
		Files: m.files, Memory: m.memory, AddressSpace: m.addressSpace,
		Disk:   m.disk + vms*m.diskPerVM,
		Inodes: m.inodes + vms*m.inodesPerVM,
	}
	children := uint64(0) // processes beside the sandbox's
	if s.Cluster {
		children = 1 + nodes + ccms
		if light > 0 {
			children++
		}
		if s.CSI {
			children += m.sidecars
			n.Memory += m.memoryCSI
		}
		n.Files = max(m.filesCluster+nodes*m.filesPerNode, m.controlFiles+nodes*m.controlFilesPerNode)
		n.Instances = m.instances + (nodes+ccms)*m.instancesPerProcess
		n.Watches = m.watches + nodes*m.watchesPerNode
		n.Memory += m.memoryCluster + nodes*m.memoryPerNode + light*m.memoryPerLight
		n.AddressSpace = m.addressSpaceControl
		n.Disk += m.diskCluster + nodes*m.diskPerNode + light*m.diskPerLight
		n.Inodes += m.inodesCluster + nodes*m.inodesPerNode
	}
	// The sandbox has a thread for each other process, which waits for its end.
	half := uint64(max(1, cpus)) / 2
	n.Threads = m.threadsSandbox + half + children + children*(m.threads+half)
	return n
}
