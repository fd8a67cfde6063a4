//go:build before_v1_37

package kubelet

import (
	cadvisorapi "github.com/google/cadvisor/info/v1"
	cadvisorapiv2 "github.com/google/cadvisor/info/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor"
)

// Types of the kubelet's cadvisor.Interface.
type (
	machineInfo            = cadvisorapi.MachineInfo
	versionInfo            = cadvisorapi.VersionInfo
	fsInfo                 = cadvisorapiv2.FsInfo
	requestOptions         = cadvisorapiv2.RequestOptions
	containerInfo          = cadvisorapiv2.ContainerInfo
	requestedContainerInfo = cadvisorapi.ContainerInfo
	containerSpec          = cadvisorapiv2.ContainerSpec
	memorySpec             = cadvisorapiv2.MemorySpec
	containerStats         = cadvisorapiv2.ContainerStats
	cpuStats               = cadvisorapi.CpuStats
	cpuUsage               = cadvisorapi.CpuUsage
	memoryStats            = cadvisorapi.MemoryStats
)

const unknownProvider = cadvisorapi.UnknownProvider

type vmCAdvisor struct{ *machine }

func newCAdvisor(m *machine) cadvisor.Interface { return vmCAdvisor{m} }

func (c vmCAdvisor) MachineInfo() (*machineInfo, error) { return c.info() }

// GetCapacity implements cm.ContainerManager.
func (containers) GetCapacity(localStorageCapacityIsolation bool) corev1.ResourceList {
	return capacity(localStorageCapacityIsolation)
}
