package world_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
)

func TestUUIDs(t *testing.T) {
	const a, b, ab, ba = "42000000-0000-4000-8000-0000000000a1", "42000000-0000-4000-8000-0000000000b1", "00000042-0000-0040-8000-0000000000a1", "00000042-0000-0040-8000-0000000000b1"
	for name, tc := range map[string]struct {
		node *corev1.Node
		want []string
	}{
		"nothing":       {k8s("n", nil), nil},
		"what it reads": {k8s("n", systemUUID(uuid("1"))), []string{a, ab}},
		"both, one VM": {k8s("n", func(n *corev1.Node) {
			n.Spec.ProviderID, n.Status.NodeInfo.SystemUUID = "vsphere://"+a, ab
		}), []string{a, ab}},
		"both, two VMs": {k8s("n", func(n *corev1.Node) {
			n.Spec.ProviderID, n.Status.NodeInfo.SystemUUID = "vsphere://"+a, b
		}), []string{a, b, ab, ba}},
		"another cloud's": {k8s("n", providerID("kind://docker/X")), nil},
	} {
		if got := world.UUIDs(tc.node); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
