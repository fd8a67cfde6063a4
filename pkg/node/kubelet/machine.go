package kubelet

import (
	"context"
	"strings"
	"time"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	cadvisorapiv2 "github.com/google/cadvisor/info/v2"
	"github.com/google/uuid"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// machine stands where cAdvisor would look at the host: it reports the VM instead. It implements the kubelet's
// cadvisor.Interface.
type machine struct {
	cfg    node.Config
	bootID string
}

// newMachine is one boot of the VM: like a kernel it has a new boot ID each time, by which a kubelet knows a reboot.
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

// The root disk of every VM, half full: the eviction manager wants to see free space.
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

// ContainerInfoV2 knows the machine as a whole, half of its memory in use; the eviction manager asks for that.
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
