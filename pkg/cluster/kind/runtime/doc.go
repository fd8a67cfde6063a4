// Package runtime runs the command line of a container runtime that kind supports: docker, podman or nerdctl. It has the
// calls that a cluster in containers needs, and errors that explain what is missing.
//
//	rt := runtime.New("docker")
//	if err := rt.Pause(ctx, "vsphere-sandbox-demo-worker"); coded.Is(err, runtime.ContainerMissing) {
//		// it was removed
//	}
//
// It uses the commands, as kind does: they alone know the user's contexts, sockets, SSH hosts and rootless modes. Each
// call is a separate process, which ends with the call's context.
//
// Floor 2. It imports nothing of this module.
package runtime
