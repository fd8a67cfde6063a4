package controllers

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
	cloudnodeutil "k8s.io/cloud-provider/node/helpers"
)

// hasAddresses reports whether the node's addresses are what the cloud-node controller would make of these
// (updateNodeAddress).
func hasAddresses(node *corev1.Node, addresses []corev1.NodeAddress) bool {
	isHostName := func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeHostName }
	want := slices.Clone(addresses)
	if !slices.ContainsFunc(want, isHostName) {
		for _, a := range node.Status.Addresses {
			if isHostName(a) {
				want = append(want, a)
			}
		}
	}
	if ip, ok := node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr]; ok {
		var err error
		if want, err = cloudnodeutil.GetNodeAddressesFromNodeIP(ip, want); err != nil {
			return false
		}
	}
	return slices.Equal(want, node.Status.Addresses)
}
