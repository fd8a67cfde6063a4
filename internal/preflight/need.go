package preflight

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

	// VCenters is the number of vCenters. Addresses are where they listen, and VCenterPort is their port when there are no
	// addresses: see the package loopback.
	VCenters    int
	Addresses   []string
	VCenterPort int
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
