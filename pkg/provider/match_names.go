package provider

import (
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

// hostNames returns the names that the node's guest may go by: the node's own, and what the kubelet reports.
func hostNames(node *v1.Node) []string {
	var names []string
	add := func(name string) {
		if name != "" && !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
			names = append(names, name)
		}
	}
	add(node.Name)
	for _, a := range node.Status.Addresses {
		if a.Type == v1.NodeHostName {
			add(a.Address)
		}
	}
	add(node.Labels[v1.LabelHostname])
	return names
}

// addressesOf returns the addresses that the kubelet was given or reports. A node whose name is an address counts.
func addressesOf(node *v1.Node) []netip.Addr {
	texts := []string{node.Name}
	texts = append(texts, strings.Split(node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr], ",")...)
	for _, a := range node.Status.Addresses {
		if a.Type == v1.NodeInternalIP {
			texts = append(texts, a.Address)
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
