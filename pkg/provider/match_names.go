package provider

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

// hostNames returns the names that the node's guest may go by: the node's own, and what the kubelet reports.
func hostNames(node *corev1.Node) []string {
	var names []string
	add := func(name string) {
		if name != "" && !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
			names = append(names, name)
		}
	}
	add(node.Name)
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeHostName {
			add(a.Address)
		}
	}
	add(node.Labels[corev1.LabelHostname])
	return names
}

// addressesOf returns the addresses by which a node may be found: its name, when it is one, as upstream has it. What the
// kubelet was given or reports counts for a node that tells no system UUID. One that tells a UUID which no vCenter knows
// runs on no VM of theirs, but for containers, and a VM of another network may well have its address.
func addressesOf(node *corev1.Node) []netip.Addr {
	texts := []string{node.Name}
	if _, err := inventory.ParseUUID(node.Status.NodeInfo.SystemUUID); err != nil {
		texts = append(texts, strings.Split(node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr], ",")...)
		for _, a := range node.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				texts = append(texts, a.Address)
			}
		}
	}
	var ips []netip.Addr
	for _, s := range texts {
		if ip, err := netip.ParseAddr(strings.TrimSpace(s)); err == nil && !slices.Contains(ips, ip) {
			ips = append(ips, ip)
		}
	}
	return ips
}
