package kind

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// Options configure a cluster. Name, Dir, Speed and Image are required.
type Options struct {
	// Name is the sandbox's name. The kind cluster and the admin's context are called vsphere-sandbox-<Name>.
	Name string
	// Dir is an existing directory, for its owner only, kept for the life of the cluster. The nodes mount files from it,
	// so it must be on the host of the runtime's daemon.
	Dir string
	// Nodes are the VMs that are nodes. Without any the cluster only has a control plane that is no VM.
	Nodes []Node
	// Image is the node image, by a name that the runtime knows or can pull.
	Image string
	// Volumes is a directory on this host that every VM node mounts at the same path, for volumes that are directories. It is
	// created. Optional.
	Volumes string
	// Shares has shares of files in Volumes, too: a link in the node's /dev/disk/by-id leads there, [disk.SharesLink].
	Shares bool
	// UserConfig is a kind configuration to merge; see the package's comment. UserFile is its name in errors.
	UserConfig []byte
	UserFile   string
	Speed      pace.Speed
	// Knobs are the user's changes of the components. Files are refused: a node does not have them.
	Knobs contract.Knobs
	// Retain keeps a cluster whose creation failed, with its logs in Dir.
	Retain bool
	// Port is the API server's on this host; 0 for a free one.
	Port int
	// Firmware shows pods that mount a node's /sys/devices the VM's serial number at /sys/class/dmi/id, also on hosts
	// without DMI: upstream's CSI node service reads it.
	Firmware bool
	// Mirrors allows [Cluster.Mirror] to configure registry mirrors of the nodes.
	Mirrors bool
	// Kubernetes is the release that the image is expected to be of; default is that of this program. [Cluster.Create] looks.
	Kubernetes string
	// Host is the containers' host, see [runtime.Runtime.Capacity]. If zero, Create determines it.
	Host runtime.Capacity
	// Runtime is used instead of the one that [Detect] finds.
	Runtime *runtime.Runtime
	// Progress is called with each line of progress, by one goroutine at a time, at least every five seconds.
	Progress func(string)
}

// Node is a VM that is a node.
type Node struct {
	// Name is the guest's hostname and the node's name in Kubernetes: lower case.
	Name string
	// UUID is the VM's BIOS UUID, which the node shows as its system UUID. Serial is its serial number; the default is
	// the one that vSphere derives from the UUID ([Serial]).
	UUID, Serial string
	ControlPlane bool
	// Address is the node's address, which its container gets in addition. Zero: the container's own address.
	Address netip.Addr
	// CPUs and MemoryBytes are the VM's. What the host has more is reserved on the node, so that pods get what the VM
	// has; less cannot be compensated. 0 means as much as the host has. The node with the API server has no limit: a VM
	// that is too small for one would break the cluster.
	CPUs        int
	MemoryBytes uint64
	// ByID is a directory on this host that is mounted at the node's /dev/disk/by-id; default is one in Options.Dir
	// ([Cluster.ByID]).
	ByID string
}

// maxName is the longest sandbox name: the control plane's container needs a host name of at most 63 characters.
const maxName = 63 - len(prefix) - len("-control-plane")

func (o Options) check() error {
	var errs []error
	wrongly := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	label := regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	subdomain := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	if !label.MatchString(o.Name) {
		wrongly("sandbox name %q: want lower-case letters, digits and dashes, a letter or digit first and last", o.Name)
	} else if len(o.Name) > maxName {
		wrongly("sandbox name %q: has %d characters; on kind the limit is %d, since containers are named after it", o.Name, len(o.Name), maxName)
	}
	if !filepath.IsAbs(o.Dir) {
		wrongly("directory %q: has to be an absolute path", o.Dir)
	} else if strings.ContainsAny(o.Dir, ":,") {
		wrongly("directory %q: a container runtime mounts no path with a colon or a comma: set another state directory", o.Dir)
	}
	if o.Volumes != "" && (!filepath.IsAbs(o.Volumes) || strings.ContainsAny(o.Volumes, ":,")) {
		wrongly("directory %q: has to be an absolute path without a colon or a comma", o.Volumes)
	}
	if o.Image == "" {
		wrongly("no node image is given")
	}
	if o.Port < 0 || o.Port > 65535 {
		wrongly("port %d: want one from 1 to 65535, or 0 for a free one", o.Port)
	}
	if err := o.Speed.Validate(); err != nil {
		wrongly("%w", err)
	}
	if _, err := clusterPatches(o.Speed, o.Knobs); err != nil {
		errs = append(errs, err)
	}
	seen := map[string]bool{}
	for _, n := range o.Nodes {
		if len(n.Name) > 253 || !subdomain.MatchString(n.Name) {
			wrongly("node %q: a node's name has to be a host name in lower case", n.Name)
		}
		if _, err := Serial(n.UUID); err != nil {
			wrongly("node %q: %w", n.Name, err)
		}
		if strings.ContainsAny(n.Serial, "\r\n") {
			wrongly("node %q: serial number %q: has to be one line", n.Name, n.Serial)
		}
		if n.ByID != "" && (!filepath.IsAbs(n.ByID) || strings.ContainsAny(n.ByID, ":,")) {
			wrongly("node %q: directory %q: has to be an absolute path without a colon or a comma", n.Name, n.ByID)
		}
		if seen[n.Name] {
			wrongly("node %q: is given twice; node names are unique in Kubernetes", n.Name)
		}
		seen[n.Name] = true // duplicate UUIDs are allowed: they are worth testing
	}
	return errors.Join(errs...)
}

func (o Options) kubernetes() string {
	if o.Kubernetes != "" {
		return o.Kubernetes
	}
	return release.Kind()
}

// kubeadmAPI is the API version of kubeadm's configuration that kind writes since Kubernetes 1.36, in which arguments are lists of names
// and values. kind merges such a list by name. [forKubeadm] makes the patches for an older release.
const kubeadmAPI = "kubeadm.k8s.io/v1beta4"

// oldKubeadmAPI is what kind writes before Kubernetes 1.36, oldKubeadm the last minor version of it.
const (
	oldKubeadmAPI = "kubeadm.k8s.io/v1beta3"
	oldKubeadm    = 35
)

// forKubeadm returns a patch of [kubeadmAPI] for the kubeadm of a Kubernetes release. kind leaves out a patch of another API version
// without a word. In [oldKubeadmAPI] arguments are maps, and components have no environment.
func forKubeadm(patch, kubernetes string) string {
	if n, ok := release.Minor(kubernetes); !ok || n > oldKubeadm {
		return patch
	}
	var p map[string]any
	if err := yaml.Unmarshal([]byte(patch), &p); err != nil || p["apiVersion"] != kubeadmAPI {
		return patch
	}
	p["apiVersion"] = oldKubeadmAPI
	for _, of := range []string{"apiServer", "controllerManager", "scheduler", "nodeRegistration"} {
		part, _ := p[of].(map[string]any)
		delete(part, "extraEnvs")
		for _, key := range []string{"extraArgs", "kubeletExtraArgs"} {
			list, ok := part[key].([]any)
			if !ok {
				continue
			}
			args := map[string]any{}
			for _, a := range list {
				arg := a.(map[string]any)
				args[arg["name"].(string)] = arg["value"]
			}
			part[key] = args
		}
	}
	return render(p)
}

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
	ExtraArgs []arg `yaml:"extraArgs,omitempty"`
	ExtraEnvs []arg `yaml:"extraEnvs,omitempty"`
}

type clusterConfiguration struct {
	APIVersion        string    `yaml:"apiVersion"`
	Kind              string    `yaml:"kind"`
	APIServer         component `yaml:"apiServer"`
	ControllerManager component `yaml:"controllerManager"`
	Scheduler         component `yaml:"scheduler,omitempty"`
}

// with returns the component with the user's flags, NAME=VALUE, after ours, none of which they may be.
func (c component) with(name string, flags []string) (component, error) {
	var errs []error
	ours := c.ExtraArgs
	for _, flag := range flags {
		key, value, ok := strings.Cut(strings.TrimLeft(flag, "-"), "=")
		switch {
		case !ok || key == "":
			errs = append(errs, fmt.Errorf("%s: %q: want NAME=VALUE", name, flag))
		case slices.ContainsFunc(ours, func(a arg) bool { return a.Name == key }):
			errs = append(errs, fmt.Errorf("%s: --%s: the sandbox sets it itself", name, key))
		default:
			c.ExtraArgs = append(c.ExtraArgs, arg{key, value})
		}
	}
	return c, errors.Join(errs...)
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

// clusterPatches are the kubeadm patches for the speed, with the user's flags of components.
func clusterPatches(s pace.Speed, k contract.Knobs) ([]string, error) {
	duration := func(p pace.Period) string { return s.Of(p).String() }
	seconds := func(p pace.Period) int { return int(s.Of(p) / time.Second) }
	c := clusterConfiguration{
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
	}
	var errs []error
	for _, of := range []struct {
		name  string
		into  *component
		flags []string
	}{
		{"kube-apiserver", &c.APIServer, k.APIServer},
		{"kube-controller-manager", &c.ControllerManager, k.ControllerManager},
		{"kube-scheduler", &c.Scheduler, k.Scheduler},
	} {
		var err error
		*of.into, err = of.into.with(of.name, of.flags)
		errs = append(errs, err)
	}
	return []string{
		render(c),
		render(kubeletConfiguration{
			APIVersion: "kubelet.config.k8s.io/v1beta1", Kind: "KubeletConfiguration",
			FailCgroupV1:              false, // since 1.35 kubelets reject hosts with cgroup v1 by default
			NodeLeaseDurationSeconds:  seconds(pace.NodeLease),
			NodeStatusUpdateFrequency: duration(pace.NodeStatusUpdate),
			NodeStatusReportFrequency: duration(pace.NodeStatusReport),
			SyncFrequency:             duration(pace.KubeletSync),
		}),
	}, errors.Join(errs...)
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
