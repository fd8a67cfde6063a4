package controllers

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
	cloudnodeutil "k8s.io/cloud-provider/node/helpers"
)

// hasAddresses reports whether the node's addresses are what the cloud-node controller would make of these
// (updateNodeAddress).
func hasAddresses(node *v1.Node, addresses []v1.NodeAddress) bool {
	isHostName := func(a v1.NodeAddress) bool { return a.Type == v1.NodeHostName }
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
