package kind

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// kubeadmAPI is the API version of kubeadm's configuration for Kubernetes 1.36, in which arguments are lists of names and
// values. kind merges such a list by name. Node images of other minor versions are rejected before.
const kubeadmAPI = "kubeadm.k8s.io/v1beta4"

// arg is one argument of a component, or one of its environment variables.
type arg struct {
	Name  string `yaml:"name"`
	Value string `yaml:"value"`
}

type taint struct {
	Key    string `yaml:"key"`
	Effect string `yaml:"effect"`
}

type registration struct {
	Name             string  `yaml:"name"`
	KubeletExtraArgs []arg   `yaml:"kubeletExtraArgs,omitempty"`
	Taints           []taint `yaml:"taints,omitempty"`
}

// joining is our part of a kubeadm InitConfiguration or JoinConfiguration.
type joining struct {
	APIVersion       string       `yaml:"apiVersion"`
	Kind             string       `yaml:"kind"`
	NodeRegistration registration `yaml:"nodeRegistration"`
}

type component struct {
	ExtraArgs []arg `yaml:"extraArgs"`
	ExtraEnvs []arg `yaml:"extraEnvs,omitempty"`
}

type clusterConfiguration struct {
	APIVersion        string    `yaml:"apiVersion"`
	Kind              string    `yaml:"kind"`
	APIServer         component `yaml:"apiServer"`
	ControllerManager component `yaml:"controllerManager"`
}

type kubeletConfiguration struct {
	APIVersion                string `yaml:"apiVersion"`
	Kind                      string `yaml:"kind"`
	FailCgroupV1              bool   `yaml:"failCgroupV1"`
	NodeLeaseDurationSeconds  int    `yaml:"nodeLeaseDurationSeconds"`
	NodeStatusUpdateFrequency string `yaml:"nodeStatusUpdateFrequency"`
	NodeStatusReportFrequency string `yaml:"nodeStatusReportFrequency"`
	SyncFrequency             string `yaml:"syncFrequency"`
}

// The environment of the controller manager of a hack/kind-node image.
const (
	maxWaitForUnmountEnv = "VSPHERE_SANDBOX_MAX_WAIT_FOR_UNMOUNT"
	populatorSleepEnv    = "VSPHERE_SANDBOX_VOLUME_POPULATOR_SLEEP"
)

// clusterPatches are the kubeadm patches for the speed.
func clusterPatches(s pace.Speed) []string {
	duration := func(p pace.Period) string { return s.Of(p).String() }
	seconds := func(p pace.Period) int { return int(s.Of(p) / time.Second) }
	return []string{
		render(clusterConfiguration{
			APIVersion: kubeadmAPI, Kind: "ClusterConfiguration",
			APIServer: component{ExtraArgs: []arg{
				{"default-not-ready-toleration-seconds", strconv.Itoa(seconds(pace.NotReadyToleration))},
				{"default-unreachable-toleration-seconds", strconv.Itoa(seconds(pace.UnreachableToleration))},
			}},
			ControllerManager: component{
				ExtraArgs: []arg{
					{"cloud-provider", "external"},
					{"node-monitor-period", duration(pace.NodeMonitorPeriod)},
					{"node-monitor-grace-period", duration(pace.NodeMonitorGracePeriod)},
					{"node-startup-grace-period", duration(pace.NodeStartupGracePeriod)},
					{"node-eviction-rate", strconv.FormatFloat(s.EvictionRate(), 'f', -1, 64)},
					{"attach-detach-reconcile-sync-period", duration(pace.AttachDetachSync)},
					{"pvclaimbinder-sync-period", duration(pace.PVClaimBinderSync)},
				},
				ExtraEnvs: []arg{
					{maxWaitForUnmountEnv, duration(pace.AttachDetachMaxWaitForUnmount)},
					{populatorSleepEnv, duration(pace.AttachDetachPopulator)},
				},
			},
		}),
		render(kubeletConfiguration{
			APIVersion: "kubelet.config.k8s.io/v1beta1", Kind: "KubeletConfiguration",
			FailCgroupV1:              false, // since 1.35 kubelets reject hosts with cgroup v1 by default
			NodeLeaseDurationSeconds:  seconds(pace.NodeLease),
			NodeStatusUpdateFrequency: duration(pace.NodeStatusUpdate),
			NodeStatusReportFrequency: duration(pace.NodeStatusReport),
			SyncFrequency:             duration(pace.KubeletSync),
		}),
	}
}

// nodePatch is the kubeadm patch of one VM: it sets the name of the guest; the cloud controller manager sets the rest.
func nodePatch(m machine, host runtime.Capacity) string {
	j := joining{APIVersion: kubeadmAPI, Kind: "JoinConfiguration", NodeRegistration: registration{
		Name:             m.Name,
		KubeletExtraArgs: []arg{{"cloud-provider", "external"}, {"provider-id", ""}},
	}}
	if m.Address.IsValid() {
		j.NodeRegistration.KubeletExtraArgs = append(j.NodeRegistration.KubeletExtraArgs, arg{"node-ip", m.Address.String()})
	}
	if r := reserve(m, host); r != "" && m.role != "control-plane" {
		j.NodeRegistration.KubeletExtraArgs = append(j.NodeRegistration.KubeletExtraArgs, arg{"system-reserved", r})
	}
	switch {
	case m.role == "control-plane":
		j.Kind = "InitConfiguration"
	case m.ControlPlane:
		j.NodeRegistration.Taints = []taint{{controlPlaneRole, "NoSchedule"}}
	}
	return render(j)
}

// reserve returns what the host has more than the VM, or "" if that is nothing or unknown. A node sees the host's CPUs
// and memory, and a reservation is the only way to offer less.
func reserve(m machine, host runtime.Capacity) string {
	var parts []string
	if m.CPUs > 0 && host.CPUs > m.CPUs {
		parts = append(parts, "cpu="+strconv.Itoa(host.CPUs-m.CPUs))
	}
	if m.MemoryBytes > 0 && host.MemoryBytes > m.MemoryBytes {
		parts = append(parts, "memory="+strconv.FormatUint(host.MemoryBytes-m.MemoryBytes, 10))
	}
	return strings.Join(parts, ",")
}

// controlPlaneRole is the key of the label and of the taint of control-plane nodes.
const controlPlaneRole = "node-role.kubernetes.io/control-plane"

func render(v any) string {
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(v), e.Close()); err != nil { // of structs of strings
		panic(fmt.Sprintf("kind: %v", err))
	}
	return b.String()
}
