// Package runtime is the command line of a container runtime: docker, podman or nerdctl, whichever kind works with. It asks
// for what a cluster in containers needs, and tells in words of its own why there is none of it.
//
//	rt := runtime.New("docker")
//	if err := rt.Pause(ctx, "vsphere-sandbox-demo-worker"); coded.Is(err, runtime.ContainerMissing) {
//		// somebody has removed it
//	}
//
// It goes through the commands, as kind does: they alone know the user's contexts, sockets, SSH hosts and rootless modes.
// Each call is a process of its own, which ends with the call's context.
//
// Floor 2. It imports nothing of this module.
package runtime
