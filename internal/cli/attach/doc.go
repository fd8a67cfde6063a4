// Package attach connects this host's commands to a sandbox that runs as a pod of a cluster: it installs the pod, keeps
// the instance's directory and its control socket here, and forwards requests to the pod through a port-forward, so that
// every command and the terminal UI work as with a local sandbox.
//
//	s := attach.New(attach.Options{Name: "lab", Topology: t, Dir: dir, Logger: logger, Image: "registry.test/vsphere-sandbox:v1"})
//	err := s.Run(ctx, ready) // installs, waits, serves, and removes everything when ctx ends or on a stop request
//
// It rewrites the pod's answers where they differ here: paths are those of this host, and the URLs of vCenters lead to
// ports of 127.0.0.1. A process that was killed leaves a note in its directory, and [Sweep] uses it to remove its objects
// from the cluster.
//
// Floor 5.
package attach
