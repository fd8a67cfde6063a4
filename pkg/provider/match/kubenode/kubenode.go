// Package kubenode extracts the facts that package match compares from a Node object.
package kubenode

import (
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
