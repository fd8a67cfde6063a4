package controllers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestVMKey(t *testing.T) {
	const want = "03020142-0504-0706-0809-0a0b0c0d0e0f"
	for _, id := range []string{
		"42010203-0405-0607-0809-0a0b0c0d0e0f",
		"vsphere://42010203-0405-0607-0809-0a0b0c0d0e0f",
		" VSPHERE://42010203-0405-0607-0809-0A0B0C0D0E0F ",
		"vsphere://03020142-0504-0706-0809-0a0b0c0d0e0f",
		"03020142-0504-0706-0809-0A0B0C0D0E0F",
	} {
		if got := vmKey(id); got != want {
			t.Errorf("%q: %s, want %s", id, got, want)
		}
	}
	for id, want := range map[string]string{"kind://docker/kind/Worker": "kind://docker/kind/worker", "": "", "vsphere://": "vsphere://"} {
		if got := vmKey(id); got != want {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
}

func TestIndexNode(t *testing.T) {
	const a, b = "03020142-0504-0706-0809-0a0b0c0d0e0f", "03020142-0504-0706-0809-0a0b0c0d0e10"
	system := corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{SystemUUID: b}}
	for _, tc := range []struct {
		name string
		obj  any
		want string
	}{
		{"bound", &corev1.Node{Spec: corev1.NodeSpec{ProviderID: "vsphere://" + a}, Status: system}, a},
		{"bound to something else", &corev1.Node{Spec: corev1.NodeSpec{ProviderID: "kind://x"}, Status: system}, "kind://x"},
		{"not bound", &corev1.Node{Status: system}, b},
		{"tells nothing", &corev1.Node{}, ""},
		{"no node", "x", ""},
	} {
		got, err := indexNode(tc.obj)
		if err != nil || len(got) > 1 || (len(got) == 1) != (tc.want != "") || len(got) == 1 && got[0] != tc.want {
			t.Errorf("%s: %v, %v, want %q", tc.name, got, err, tc.want)
		}
	}
}
