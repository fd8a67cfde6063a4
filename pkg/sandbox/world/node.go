package world

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

const rolePrefix = "node-role.kubernetes.io/"

// ControlPlaneLabel is on Nodes of the control plane.
const ControlPlaneLabel = rolePrefix + "control-plane"

// NodeRow reads a Node object, without its VM.
func NodeRow(n *corev1.Node) api.Node {
	row := api.Node{
		Name:         n.Name,
		Registered:   true,
		Ready:        string(Ready(n)),
		Initialized:  !HasTaint(n, cloudproviderapi.TaintExternalCloudProvider),
		Region:       n.Labels[corev1.LabelTopologyRegion],
		Zone:         n.Labels[corev1.LabelTopologyZone],
		InstanceType: n.Labels[corev1.LabelInstanceTypeStable],
		ProviderID:   n.Spec.ProviderID,
		Version:      n.Status.NodeInfo.KubeletVersion,
		Created:      n.CreationTimestamp.Time,
		// Objects of an informer do not change.
		Labels:        n.Labels,
		Unschedulable: n.Spec.Unschedulable,
	}
	for _, t := range n.Spec.Taints {
		row.Taints = append(row.Taints, t.ToString())
	}
	slices.Sort(row.Taints)
	for _, a := range n.Status.Addresses {
		if a.Type != corev1.NodeHostName && !slices.Contains(row.Addresses, a.Address) {
			row.Addresses = append(row.Addresses, a.Address)
		}
	}
	for label := range n.Labels {
		if role, ok := strings.CutPrefix(label, rolePrefix); ok {
			row.Roles = append(row.Roles, role)
		}
	}
	slices.Sort(row.Roles)
	return row
}

// Ready is the status of the Ready condition; "" before the kubelet has posted one.
func Ready(n *corev1.Node) corev1.ConditionStatus {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return ""
}

// HasTaint reports whether a taint of that key is on the node, with any effect.
func HasTaint(n *corev1.Node, key string) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}
