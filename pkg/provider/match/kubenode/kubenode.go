// Package kubenode extracts the facts that package match compares from a Node object.
package kubenode

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

// annotationProvidedIP is AnnotationAlphaProvidedIPAddr of k8s.io/cloud-provider/api: the kubelet's --node-ip.
const annotationProvidedIP = "alpha.kubernetes.io/provided-node-ip"

// Facts returns the facts that identify the VM of a Node.
func Facts(n *corev1.Node) match.Node {
	facts := match.Node{Name: n.Name, ProviderID: n.Spec.ProviderID, SystemUUID: n.Status.NodeInfo.SystemUUID}
	if ip := n.Annotations[annotationProvidedIP]; ip != "" {
		facts.IPs = strings.Split(ip, ",")
	}
	for _, a := range n.Status.Addresses {
		switch a.Type {
		case corev1.NodeHostName:
			facts.HostNames = append(facts.HostNames, a.Address)
		case corev1.NodeInternalIP:
			facts.IPs = append(facts.IPs, a.Address)
		}
	}
	if name := n.Labels[corev1.LabelHostname]; name != "" {
		facts.HostNames = append(facts.HostNames, name)
	}
	return facts
}

// Changed returns how a Node differs from the one that a question is about: replaced, on another VM, or ready; "" if it does not
// differ. The stock lifecycle controller deletes by name alone, and a slow vCenter takes seconds to answer. Without this check, a
// new Node with the same name would be deleted in place of the old one (kubernetes/cloud-provider-vsphere#397).
func Changed(asked, now *corev1.Node) string {
	switch {
	case now.UID != asked.UID:
		return "another node has its name"
	case now.Spec.ProviderID != asked.Spec.ProviderID || now.Status.NodeInfo.SystemUUID != asked.Status.NodeInfo.SystemUUID:
		return "the node runs on another vm"
	case slices.ContainsFunc(now.Status.Conditions, ready):
		return "the node is ready"
	}
	return ""
}

func ready(c corev1.NodeCondition) bool {
	return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
}
