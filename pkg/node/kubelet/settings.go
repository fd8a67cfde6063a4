package kubelet

import (
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// settings are those of a kubelet on a vSphere VM with an external cloud provider, at the sandbox's pace, less all
// that would touch the machine it really runs on.
func settings(cfg node.Config) (*options.KubeletFlags, *kubeletconfig.KubeletConfiguration, error) {
	f := options.NewKubeletFlags()
	f.RootDirectory = cfg.RootDir
	f.CertDirectory = filepath.Join(cfg.RootDir, "pki")
	f.HostnameOverride = cfg.Name
	f.CloudProvider = "external" // with it goes the uninitialized taint

	c, err := options.NewKubeletConfiguration()
	if err != nil {
		return nil, nil, err
	}
	// The providerID is the cloud controller manager's to set.
	c.ProviderID = ""
	c.RegisterNode = true
	if cfg.ControlPlane {
		// The label of that name a node may not give itself (NodeRestriction); the sandbox does, as kubeadm would.
		c.RegisterWithTaints = append(c.RegisterWithTaints, corev1.Taint{
			Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule,
		})
	}
	c.EnableControllerAttachDetach = true

	c.NodeLeaseDurationSeconds = int32(cfg.Speed.Of(pace.NodeLease).Seconds())
	c.NodeStatusUpdateFrequency.Duration = cfg.Speed.Of(pace.NodeStatusUpdate)
	c.NodeStatusReportFrequency.Duration = cfg.Speed.Of(pace.NodeStatusReport)
	c.SyncFrequency.Duration = cfg.Speed.Of(pace.KubeletSync)

	// No container runs, so there is nothing to look into: the kubelet's own server, which would need a port and an
	// address that the node does not really have, stays off.
	c.EnableServer = false
	c.MakeIPTablesUtilChains = false // they would go into the packet filter of this machine, where root runs it
	c.ReadOnlyPort = 0
	c.HealthzPort = 0
	c.StaticPodPath = ""
	c.PodLogsDir = filepath.Join(cfg.RootDir, "pod-logs")
	c.CgroupsPerQOS = false
	c.CgroupRoot = ""
	c.EnforceNodeAllocatable = nil
	c.FailCgroupV1 = false
	c.FailSwapOn = false
	c.ResolverConfig = ""
	c.MaxOpenFiles = 4096
	c.EvictionHard = nil
	c.VolumePluginDir = filepath.Join(cfg.RootDir, "volume-plugins")
	for _, dir := range []string{c.PodLogsDir, c.VolumePluginDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, nil, err
		}
	}
	return f, c, nil
}

func leaseDuration(c *kubeletconfig.KubeletConfiguration) time.Duration {
	return time.Duration(c.NodeLeaseDurationSeconds) * time.Second
}
