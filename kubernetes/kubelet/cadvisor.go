//go:build !before_v1_37

package kubelet

import (
	cadvisorapi "github.com/google/cadvisor/lib/model"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor"
)

// Types of the kubelet's cadvisor.Interface.
type (
	machineInfo            = cadvisorapi.MachineInfo
	versionInfo            = cadvisorapi.VersionInfo
	fsInfo                 = cadvisorapi.FsInfo
	requestOptions         = cadvisorapi.RequestOptions
	containerInfo          = cadvisorapi.ContainerInfo
	requestedContainerInfo = cadvisorapi.ContainerInfo
	containerSpec          = cadvisorapi.ContainerSpec
	memorySpec             = cadvisorapi.MemorySpec
	containerStats         = cadvisorapi.ContainerStats
	cpuStats               = cadvisorapi.CpuStats
	cpuUsage               = cadvisorapi.CpuUsage
	memoryStats            = cadvisorapi.MemoryStats
)

const unknownProvider = cadvisorapi.UnknownProvider

type vmCAdvisor struct{ *machine }

func newCAdvisor(m *machine) cadvisor.Interface { return vmCAdvisor{m} }

func (c vmCAdvisor) MachineInfo(klog.Logger) (*machineInfo, error) { return c.info() }

// GetCapacity implements cm.ContainerManager.
func (containers) GetCapacity(_ klog.Logger, localStorageCapacityIsolation bool) corev1.ResourceList {
	return capacity(localStorageCapacityIsolation)
}
