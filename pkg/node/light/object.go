package light

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
)

const (
	controlPlaneTaint = "node-role.kubernetes.io/control-plane"
	attachedByManager = "volumes.kubernetes.io/controller-managed-attach-detach"
	kubeletPort       = 10250
	diskBytes         = 40 << 30
	pods              = 110
)

// maker builds Node objects.
type maker struct {
	version string // of the kubelet: that of the cluster
	runtime string
	nodeIP  bool
	labels  map[string]string
	taints  []corev1.Taint
}

// object returns the Node that a kubelet on that machine registers.
func (k maker) object(m feed.Guest, now time.Time) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: m.Name,
			Labels: map[string]string{
				corev1.LabelHostname:      m.Name,
				corev1.LabelOSStable:      "linux",
				corev1.LabelArchStable:    runtime.GOARCH,
				"beta.kubernetes.io/os":   "linux",
				"beta.kubernetes.io/arch": runtime.GOARCH,
			},
			Annotations: map[string]string{attachedByManager: "true"},
		},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{
			Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule,
		}}},
	}
	maps.Copy(n.Labels, k.labels)
	n.Spec.Taints = append(n.Spec.Taints, k.taints...)
	if m.ControlPlane {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: controlPlaneTaint, Effect: corev1.TaintEffectNoSchedule})
	}
	if k.nodeIP && len(m.Addresses) > 0 {
		n.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr] = m.Addresses[0]
	}
	k.status(n, m, now)
	return n
}

// others reports whether a Node belongs to another owner: ours have all labels of the configuration. Without labels,
// every Node is ours.
func (k maker) others(n *corev1.Node) bool {
	for key, value := range k.labels {
		if n.Labels[key] != value {
			return true
		}
	}
	return false
}

// status updates a Node's status from the machine, as a kubelet does, except for the cloud provider's part.
func (k maker) status(n *corev1.Node, m feed.Guest, now time.Time) {
	s := &n.Status
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(int64(m.CPUs), resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(int64(m.MemoryBytes), resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(diskBytes, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(pods, resource.DecimalSI),
	}
	s.Capacity, s.Allocatable = merged(s.Capacity, capacity), merged(s.Allocatable, capacity)
	s.Conditions = conditions(s.Conditions, now)
	s.DaemonEndpoints.KubeletEndpoint.Port = kubeletPort
	s.NodeInfo = corev1.NodeSystemInfo{
		MachineID:               strings.ReplaceAll(m.UUID, "-", ""),
		SystemUUID:              m.UUID,
		BootID:                  bootID(m),
		KernelVersion:           m.Kernel,
		OSImage:                 m.OSImage,
		ContainerRuntimeVersion: k.runtime,
		KubeletVersion:          k.version,
		OperatingSystem:         "linux",
		Architecture:            runtime.GOARCH,
	}
	if k.nodeIP && len(m.Addresses) > 0 && len(s.Addresses) == 0 {
		s.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: m.Addresses[0]}, {Type: corev1.NodeHostName, Address: m.Name}}
	}
}

// bootID is unique per boot and constant during it, in every process.
func bootID(m feed.Guest) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(m.ID+"/"+m.UUID+"/"+m.Boot.UTC().Format(time.RFC3339Nano))).String()
}

// merged returns the resources of the machine, and those that other clients added to the node (extended resources).
func merged(has, own corev1.ResourceList) corev1.ResourceList {
	all := corev1.ResourceList{}
	for _, list := range []corev1.ResourceList{has, own} {
		for name, q := range list {
			all[name] = q.DeepCopy()
		}
	}
	return all
}

// healthy returns the conditions of a healthy kubelet.
func healthy() []corev1.NodeCondition {
	return []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory", Message: "kubelet has sufficient memory available"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", Message: "kubelet has no disk pressure"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID", Message: "kubelet has sufficient PID available"},
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status"},
	}
}

// conditions returns the conditions of a healthy node, merged into has: unchanged ones keep their transition time.
func conditions(has []corev1.NodeCondition, now time.Time) []corev1.NodeCondition {
	all, at := slices.Clone(has), metav1.NewTime(now.Truncate(time.Second))
	for _, c := range healthy() {
		c.LastHeartbeatTime, c.LastTransitionTime = at, at
		i := slices.IndexFunc(all, func(o corev1.NodeCondition) bool { return o.Type == c.Type })
		if i < 0 {
			all = append(all, c)
			continue
		}
		if all[i].Status == c.Status {
			c.LastTransitionTime = all[i].LastTransitionTime
		}
		all[i] = c
	}
	return all
}

// register does what a kubelet does when it starts: it creates the Node, or updates the labels and status of an existing
// one, but not its taints. existed reports which. It returns [errOthers] for a Node of another owner, and does not change
// it.
func (f *fleet) register(ctx context.Context, m feed.Guest) (n *corev1.Node, existed bool, err error) {
	api := f.client.CoreV1().Nodes()
	n, err = api.Create(ctx, f.maker.object(m, time.Now()), metav1.CreateOptions{})
	if err == nil || !apierrors.IsAlreadyExists(err) {
		return n, false, err
	}
	n, err = f.post(ctx, m)
	return n, true, err
}

// post updates the status of an existing Node, as a kubelet does after a change. In a shared cluster, a Node without our
// labels belongs to another owner.
func (f *fleet) post(ctx context.Context, m feed.Guest) (*corev1.Node, error) {
	was, err := f.client.CoreV1().Nodes().Get(ctx, m.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if f.maker.others(was) {
		return nil, errOthers
	}
	now := time.Now()
	is, own := was.DeepCopy(), f.maker.object(m, now)
	if is.Labels == nil {
		is.Labels = map[string]string{}
	}
	if is.Annotations == nil {
		is.Annotations = map[string]string{}
	}
	maps.Copy(is.Labels, own.Labels)
	maps.Copy(is.Annotations, own.Annotations)
	f.maker.status(is, m, now)
	patch, err := statusPatch(was, is)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", m.Name, err)
	}
	return f.client.CoreV1().Nodes().Patch(ctx, m.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
}

// statusPatch returns the patch from was to is, without the spec, which kubelets do not change.
func statusPatch(was, is *corev1.Node) ([]byte, error) {
	is.Spec = was.Spec
	before, err := json.Marshal(was)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(is)
	if err != nil {
		return nil, err
	}
	return strategicpatch.CreateTwoWayMergePatch(before, after, corev1.Node{})
}

// beat renews the heartbeat of a healthy node's conditions.
func (f *fleet) beat(ctx context.Context, name string) error {
	type condition struct {
		Type              corev1.NodeConditionType `json:"type"`
		LastHeartbeatTime metav1.Time              `json:"lastHeartbeatTime"`
	}
	var patch struct {
		Status struct {
			Conditions []condition `json:"conditions"`
		} `json:"status"`
	}
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	for _, c := range healthy() {
		patch.Status.Conditions = append(patch.Status.Conditions, condition{c.Type, now})
	}
	b, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = f.client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, b, metav1.PatchOptions{}, "status")
	return err
}
