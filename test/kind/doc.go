// Package kind tests sandboxes whose nodes are containers, as a person meets them: through the built binary, with a Docker
// daemon of its own that keeps everything in one folder, and with the node image that hack/kind-node makes where there is no
// registry. What the machine had before has to be what it has after: containers, networks, volumes, loop devices, processes,
// files, and the chains of the packet filter.
//
//	make test-kind
//	go test ./test/kind -docker unix:///var/run/docker.sock   with a daemon that runs already, which is left as it is
//
// It takes root, and linux. Where Docker, or what a node image is made with, is not installed, -install (which "make test-kind"
// gives) or CI=true have it installed from Debian; else the tests are skipped and say so. Faults of the daemon itself are tried on one of our own
// only.
//
// The binary is bin/vsphere-sandbox, or $VSPHERE_SANDBOX_BIN.
package kind
