// Package kind tests sandboxes with containers as nodes, as a user runs them: through the built binary, with a separate
// Docker daemon that keeps everything in one folder, and with the node image of hack/kind-node if no registry is
// reachable. Afterwards the host must have what it had before: containers, networks, volumes, loop devices, processes,
// files, and chains of the packet filter.
//
//	make test-kind
//	go test ./test/kind -docker unix:///var/run/docker.sock   with a running daemon, which is left as it is
//
// It needs root, and Linux. With -install (which "make test-kind" sets) or CI=true, Docker and what builds a node image
// are installed from Debian if missing; otherwise the tests are skipped with that reason. Faults of the daemon itself are
// only tested with the separate daemon.
//
// The binary is bin/vsphere-sandbox, or $VSPHERE_SANDBOX_BIN.
package kind
