package kubelet

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/kubernetes/pkg/kubelet/cm"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
)

// machine replaces cAdvisor: it reports the VM instead of the host. It implements the kubelet's cadvisor.Interface, for which
// newCAdvisor adds what differs between releases.
type machine struct {
	cfg    contract.Node
	bootID string
	use    use
}

// newMachine returns one boot of the VM: like a kernel it has a new boot ID each time, so that a kubelet detects a reboot.
func newMachine(cfg contract.Node) *machine {
	return &machine{cfg: cfg, bootID: uuid.NewString()}
}

func (m *machine) info() (*machineInfo, error) {
	return &machineInfo{
		NumCores:       m.cfg.CPUs,
		NumSockets:     1,
		MemoryCapacity: m.cfg.MemoryBytes,
		MachineID:      strings.ReplaceAll(m.cfg.SystemUUID, "-", ""),
		SystemUUID:     m.cfg.SystemUUID,
		BootID:         m.bootID,
		CloudProvider:  unknownProvider,
	}, nil
}

func (m *machine) VersionInfo() (*versionInfo, error) {
	return &versionInfo{KernelVersion: m.cfg.Kernel, ContainerOsVersion: m.cfg.OSImage}, nil
}

// The root disk of every VM, half full: the eviction manager needs free space.
const (
	diskBytes  = 40 << 30
	diskInodes = 2 << 20
)

func (m *machine) fs() (fsInfo, error) {
	inodes, free := uint64(diskInodes), uint64(diskInodes/2)
	return fsInfo{
		Device: "/dev/sda1", Mountpoint: "/",
		Capacity: diskBytes, Available: diskBytes / 2, Usage: diskBytes / 2,
		Inodes: &inodes, InodesFree: &free,
	}, nil
}

func (m *machine) Start() error                                    { return nil }
func (m *machine) ImagesFsInfo(context.Context) (fsInfo, error)    { return m.fs() }
func (m *machine) ContainerFsInfo(context.Context) (fsInfo, error) { return m.fs() }
func (m *machine) RootFsInfo() (fsInfo, error)                     { return m.fs() }
func (m *machine) GetDirFsInfo(string) (fsInfo, error)             { return m.fs() }

// ContainerInfoV2 reports the whole VM, for the eviction manager and metrics.
func (m *machine) ContainerInfoV2(string, requestOptions) (map[string]containerInfo, error) {
	at := time.Now()
	cpu, bytes := m.use.now(context.Background(), at, m.cfg.MemoryBytes) // the interface has no context
	return map[string]containerInfo{"/": {
		Spec: containerSpec{HasCpu: true, HasMemory: true, Memory: memorySpec{Limit: m.cfg.MemoryBytes}},
		Stats: []*containerStats{{
			Timestamp: at,
			Cpu:       &cpuStats{Usage: cpuUsage{Total: cpu}},
			Memory:    &memoryStats{Usage: bytes, WorkingSet: bytes},
		}},
	}}, nil
}

func (m *machine) GetRequestedContainersInfo(string, requestOptions) (map[string]*requestedContainerInfo, error) {
	return map[string]*requestedContainerInfo{}, nil
}

// containers is kubemark's stub container manager, which manages nothing, plus a disk for pods' ephemeral storage. Its method
// GetCapacity differs between releases.
type containers struct {
	cm.ContainerManager
}

func newContainers() cm.ContainerManager { return containers{cm.NewStubContainerManager()} }

// capacity returns the node's resources beyond those that cAdvisor reports.
func capacity(localStorageCapacityIsolation bool) corev1.ResourceList {
	if !localStorageCapacityIsolation {
		return nil
	}
	return corev1.ResourceList{corev1.ResourceEphemeralStorage: *resource.NewQuantity(diskBytes, resource.BinarySI)}
}

// GetPodCgroupRoot returns the cgroup of all pods. The eviction manager reads its memory every ten seconds and logs an
// error if it is missing, so it is that of the host.
func (containers) GetPodCgroupRoot() string { return "/" }
