// Package attach is a sandbox that runs as a pod of a cluster, as the commands of this machine see it: it brings the pod
// there, keeps the instance's directory and its control socket here, and passes on what is asked of it through a port-forward,
// so that every command and the terminal UI work as with a sandbox of their own machine.
//
//	s := attach.New(attach.Options{Name: "lab", Topology: t, Dir: dir, Logger: logger, Image: "registry.test/vsphere-sandbox:v1"})
//	err := s.Run(ctx, ready) // installs, waits, is there, and removes everything when ctx ends or a stop is asked for
//
// What differs here from the answers of the pod is put right on the way: paths are of this machine, and the URLs of vCenters
// lead to ports of 127.0.0.1. A process that was killed leaves a note in its directory, by which [Sweep] removes from the
// cluster what it had brought there.
//
// Floor 5.
package attach
