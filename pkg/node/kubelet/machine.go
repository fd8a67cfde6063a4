package kubelet

import (
	"context"
	"strings"
	"time"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	cadvisorapiv2 "github.com/google/cadvisor/info/v2"
	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	crifake "k8s.io/cri-api/pkg/apis/testing"
	"k8s.io/kubernetes/pkg/kubelet/cm"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// machine replaces cAdvisor: it reports the VM instead of the host. It implements the kubelet's cadvisor.Interface.
type machine struct {
	cfg    node.Config
	bootID string
}

// newMachine returns one boot of the VM: like a kernel it has a new boot ID each time, so that a kubelet detects a reboot.
func newMachine(cfg node.Config) *machine {
	return &machine{cfg: cfg, bootID: uuid.NewString()}
}

func (m *machine) MachineInfo() (*cadvisorapi.MachineInfo, error) {
	return &cadvisorapi.MachineInfo{
		NumCores:       m.cfg.CPUs,
		NumSockets:     1,
		MemoryCapacity: m.cfg.MemoryBytes,
		MachineID:      strings.ReplaceAll(m.cfg.SystemUUID, "-", ""),
		SystemUUID:     m.cfg.SystemUUID,
		BootID:         m.bootID,
		CloudProvider:  cadvisorapi.UnknownProvider,
	}, nil
}

func (m *machine) VersionInfo() (*cadvisorapi.VersionInfo, error) {
	return &cadvisorapi.VersionInfo{KernelVersion: m.cfg.Kernel, ContainerOsVersion: m.cfg.OSImage}, nil
}

// The root disk of every VM, half full: the eviction manager needs free space.
const (
	diskBytes  = 40 << 30
	diskInodes = 2 << 20
)

func (m *machine) fs() (cadvisorapiv2.FsInfo, error) {
	inodes, free := uint64(diskInodes), uint64(diskInodes/2)
	return cadvisorapiv2.FsInfo{
		Device: "/dev/sda1", Mountpoint: "/",
		Capacity: diskBytes, Available: diskBytes / 2, Usage: diskBytes / 2,
		Inodes: &inodes, InodesFree: &free,
	}, nil
}

func (m *machine) Start() error                                                  { return nil }
func (m *machine) ImagesFsInfo(context.Context) (cadvisorapiv2.FsInfo, error)    { return m.fs() }
func (m *machine) ContainerFsInfo(context.Context) (cadvisorapiv2.FsInfo, error) { return m.fs() }
func (m *machine) RootFsInfo() (cadvisorapiv2.FsInfo, error)                     { return m.fs() }
func (m *machine) GetDirFsInfo(string) (cadvisorapiv2.FsInfo, error)             { return m.fs() }

// ContainerInfoV2 reports the whole VM, with half of its memory in use, for the eviction manager.
func (m *machine) ContainerInfoV2(string, cadvisorapiv2.RequestOptions) (map[string]cadvisorapiv2.ContainerInfo, error) {
	return map[string]cadvisorapiv2.ContainerInfo{"/": {
		Spec: cadvisorapiv2.ContainerSpec{HasCpu: true, HasMemory: true, Memory: cadvisorapiv2.MemorySpec{Limit: m.cfg.MemoryBytes}},
		Stats: []*cadvisorapiv2.ContainerStats{{
			Timestamp: time.Now(),
			Cpu:       &cadvisorapi.CpuStats{},
			Memory:    &cadvisorapi.MemoryStats{Usage: m.cfg.MemoryBytes / 2, WorkingSet: m.cfg.MemoryBytes / 2},
		}},
	}}, nil
}

func (m *machine) GetRequestedContainersInfo(string, cadvisorapiv2.RequestOptions) (map[string]*cadvisorapi.ContainerInfo, error) {
	return map[string]*cadvisorapi.ContainerInfo{}, nil
}

// containers is kubemark's stub container manager, which manages nothing, plus a disk for pods' ephemeral storage.
type containers struct {
	cm.ContainerManager
}

func newContainers() cm.ContainerManager { return containers{cm.NewStubContainerManager()} }

// GetCapacity returns the node's resources beyond those that cAdvisor reports.
func (containers) GetCapacity(localStorageCapacityIsolation bool) corev1.ResourceList {
	if !localStorageCapacityIsolation {
		return nil
	}
	return corev1.ResourceList{corev1.ResourceEphemeralStorage: *resource.NewQuantity(diskBytes, resource.BinarySI)}
}

// GetPodCgroupRoot returns the cgroup of all pods. The eviction manager reads its memory every ten seconds and logs an
// error if it is missing, so it is that of the host.
func (containers) GetPodCgroupRoot() string { return "/" }

// newRuntime returns a container runtime that records containers instead of running them. It is called in process:
// kubemark's gRPC socket would cost every node a server, a client and a file.
func newRuntime(ctx context.Context) (internalapi.RuntimeService, internalapi.ImageManagerService) {
	r := crifake.NewFakeRuntimeService()
	r.FakeStatus = &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
		{Type: runtimeapi.RuntimeReady, Status: true},
		{Type: runtimeapi.NetworkReady, Status: true},
	}}
	images := crifake.NewFakeImageService()
	// The eviction manager asks the runtime where images are, and cAdvisor how full that is.
	disk := []*runtimeapi.FilesystemUsage{{
		FsId:       &runtimeapi.FilesystemIdentifier{Mountpoint: "/"},
		UsedBytes:  &runtimeapi.UInt64Value{Value: diskBytes / 2},
		InodesUsed: &runtimeapi.UInt64Value{Value: diskInodes / 2},
	}}
	images.SetFakeFilesystemUsage(disk)
	images.SetFakeContainerFilesystemUsage(disk)
	go forgetCalls(ctx, r, images)
	return r, images
}

// forgetCalls clears the fakes' call records, which are for unit tests, so that they do not grow.
func forgetCalls(ctx context.Context, r *crifake.FakeRuntimeService, i *crifake.FakeImageService) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.Lock()
			r.Called = nil
			r.Unlock()
			i.Lock()
			i.Called = nil
			i.Unlock()
		case <-ctx.Done():
			return
		}
	}
}
