package controllers

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

func TestHasAddresses(t *testing.T) {
	host := v1.NodeAddress{Type: v1.NodeHostName, Address: "a"}
	ip1 := v1.NodeAddress{Type: v1.NodeInternalIP, Address: "10.0.0.1"}
	ip2 := v1.NodeAddress{Type: v1.NodeInternalIP, Address: "fd00::1"}
	ext := v1.NodeAddress{Type: v1.NodeExternalIP, Address: "10.0.0.1"}
	for _, tc := range []struct {
		name      string
		has, told []v1.NodeAddress
		nodeIP    string
		want      bool
	}{
		{"equal", []v1.NodeAddress{host, ip1, ext, ip2}, []v1.NodeAddress{host, ip1, ext, ip2}, "", true},
		{"another order", []v1.NodeAddress{host, ip2, ip1}, []v1.NodeAddress{host, ip1, ip2}, "", false},
		{"one more", []v1.NodeAddress{host, ip1}, []v1.NodeAddress{host, ip1, ip2}, "", false},
		{"one less", []v1.NodeAddress{host, ip1, ip2}, []v1.NodeAddress{host, ip1}, "", false},
		{"hostname is the kubelet's", []v1.NodeAddress{ip1, host}, []v1.NodeAddress{ip1}, "", true},
		{"node IP comes first", []v1.NodeAddress{ip2, host, ext}, []v1.NodeAddress{host, ip1, ip2, ext}, "fd00::1", true},
		{"node IP comes first, not yet", []v1.NodeAddress{host, ip1, ip2, ext}, []v1.NodeAddress{host, ip1, ip2, ext}, "fd00::1", false},
		{"node IP is not the vm's", []v1.NodeAddress{host, ip1}, []v1.NodeAddress{host, ip1}, "10.9.9.9", false},
		{"none", nil, nil, "", true},
	} {
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: v1.NodeStatus{Addresses: tc.has}}
		if tc.nodeIP != "" {
			node.Annotations = map[string]string{cloudproviderapi.AnnotationAlphaProvidedIPAddr: tc.nodeIP}
		}
		if got := hasAddresses(node, tc.told); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}
