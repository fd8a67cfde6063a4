// Command kind-node builds a node image for kind from Debian packages and Go modules, on a host without access to a
// container registry.
//
//	go -C hack/kind-node run . -load
//
// It compiles Kubernetes, etcd, containerd, the CNI plugins, CoreDNS and a pause program from the modules below programs,
// takes systemd, runc and iptables from Debian with debootstrap, adds the files below rootfs, and loads the images that
// kubeadm needs into the node's containerd. The result is one archive for `docker load`, `podman load` and `nerdctl
// load`; -load loads it into docker at once. It needs Linux and, for debootstrap, root.
//
// An image's tag is a hash of its inputs, so an existing archive is not built again. Debian's part is an exception: the
// hash has the names of the packages, but their versions are those of the day of the download, and are kept until
// -debian-again.
//
// Each program below programs is a separate module: in one module graph containerd would raise the versions of
// Kubernetes' libraries.
package main
