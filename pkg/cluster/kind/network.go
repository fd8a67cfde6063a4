package kind

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// networkLabel is on the network kind when it was made here, so that whichever sandbox is the last in it removes it.
const networkLabel = "vsphere-sandbox.network"

// Network is the name of the network of all of kind's clusters, the user's own included, in a runtime. kind reads the same
// variables: nerdctl has none.
func Network(rt *runtime.Runtime) string {
	env := map[string]string{"docker": "KIND_EXPERIMENTAL_DOCKER_NETWORK", "podman": "KIND_EXPERIMENTAL_PODMAN_NETWORK"}[rt.Kind()]
	if n := os.Getenv(env); n != "" {
		return n
	}
	return "kind"
}

// ensureNetwork makes the network that kind would make, with a label, unless there is one.
func ensureNetwork(ctx context.Context, rt *runtime.Runtime) error {
	name := Network(rt)
	if _, there, err := rt.Network(ctx, name); err != nil || there {
		return err
	}
	// kind's own have IPv6 where the machine has it, which a cluster of the user's may want. The range is one of the local
	// ones, picked by the name; where it is taken, or there is no IPv6, the network is better without than not at all.
	h := sha256.Sum256([]byte("vsphere-sandbox " + name))
	v6 := fmt.Sprintf("fd%x:%x:%x:%x::/64", h[:1], h[1:3], h[3:5], h[5:7])
	err := rt.CreateNetwork(ctx, name, networkLabel+"=true", v6)
	if err != nil && context.Cause(ctx) == nil {
		err = rt.CreateNetwork(ctx, name, networkLabel+"=true", "")
	}
	if err != nil {
		if _, there, again := rt.Network(ctx, name); again == nil && there { // somebody else was quicker
			return nil
		}
	}
	return err
}

// removeNetwork removes the network if it was made here and nobody has a container in it any more.
func removeNetwork(ctx context.Context, rt *runtime.Runtime) error {
	name := Network(rt)
	n, there, err := rt.Network(ctx, name)
	if err != nil || !there || n.Labels[networkLabel] == "" {
		return err
	}
	users, err := rt.InNetwork(ctx, name)
	if err != nil || len(users) > 0 {
		return err
	}
	if err := rt.RemoveNetwork(ctx, name); err != nil {
		if _, still, again := rt.Network(ctx, name); again == nil && !still { // by another sandbox that went down
			return nil
		}
		return err
	}
	return nil
}
