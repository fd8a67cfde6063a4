package controllers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

func TestHasAddresses(t *testing.T) {
	host := corev1.NodeAddress{Type: corev1.NodeHostName, Address: "a"}
	ip1 := corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}
	ip2 := corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "fd00::1"}
	ext := corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "10.0.0.1"}
	for _, tc := range []struct {
		name          string
		has, reported []corev1.NodeAddress
		nodeIP        string
		want          bool
	}{
		{"equal", []corev1.NodeAddress{host, ip1, ext, ip2}, []corev1.NodeAddress{host, ip1, ext, ip2}, "", true},
		{"another order", []corev1.NodeAddress{host, ip2, ip1}, []corev1.NodeAddress{host, ip1, ip2}, "", false},
		{"one more", []corev1.NodeAddress{host, ip1}, []corev1.NodeAddress{host, ip1, ip2}, "", false},
		{"one less", []corev1.NodeAddress{host, ip1, ip2}, []corev1.NodeAddress{host, ip1}, "", false},
		{"hostname is the kubelet's", []corev1.NodeAddress{ip1, host}, []corev1.NodeAddress{ip1}, "", true},
		{"node IP comes first", []corev1.NodeAddress{ip2, host, ext}, []corev1.NodeAddress{host, ip1, ip2, ext}, "fd00::1", true},
		{"node IP comes first, not yet", []corev1.NodeAddress{host, ip1, ip2, ext}, []corev1.NodeAddress{host, ip1, ip2, ext}, "fd00::1", false},
		{"node IP is not the vm's", []corev1.NodeAddress{host, ip1}, []corev1.NodeAddress{host, ip1}, "10.9.9.9", false},
		{"none", nil, nil, "", true},
	} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: corev1.NodeStatus{Addresses: tc.has}}
		if tc.nodeIP != "" {
			node.Annotations = map[string]string{cloudproviderapi.AnnotationAlphaProvidedIPAddr: tc.nodeIP}
		}
		if got := hasAddresses(node, tc.reported); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}
