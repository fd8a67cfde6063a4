package kind

import (
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// The network is the one that kind takes.
func TestNetwork(t *testing.T) {
	t.Setenv("KIND_EXPERIMENTAL_DOCKER_NETWORK", "lab")
	t.Setenv("KIND_EXPERIMENTAL_PODMAN_NETWORK", "")
	for name, want := range map[string]string{"docker": "lab", "podman": "kind", "nerdctl": "kind"} {
		if got := Network(runtime.New(name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
