package kubelet

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/kubernetes/pkg/kubelet/cm"
)

// containers is kubemark's stand-in for the container manager, which manages nothing, with a disk that pods may ask
// room on.
type containers struct {
	cm.ContainerManager
}

func newContainers() cm.ContainerManager { return containers{cm.NewStubContainerManager()} }

// GetCapacity tells what a node has beyond what cAdvisor told.
func (containers) GetCapacity(localStorageCapacityIsolation bool) corev1.ResourceList {
	if !localStorageCapacityIsolation {
		return nil
	}
	return corev1.ResourceList{corev1.ResourceEphemeralStorage: *resource.NewQuantity(diskBytes, resource.BinarySI)}
}

// GetPodCgroupRoot names the cgroup of all pods, whose memory the eviction manager asks for every ten seconds and complains
// when there is none. Here it is the machine as a whole.
func (containers) GetPodCgroupRoot() string { return "/" }
