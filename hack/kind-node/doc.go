// Command kind-node makes a node image for kind out of Debian packages and Go modules, on a machine that reaches no
// container registry.
//
//	go -C hack/kind-node run . -load
//
// It compiles Kubernetes, etcd, containerd, the CNI plugins, CoreDNS and a pause program from the modules below programs,
// takes systemd, runc and the packet filter's tools from Debian with debootstrap, adds the files below rootfs, and puts
// the images that kubeadm asks for into the node's own containerd. The result is one archive that `docker load`,
// `podman load` and `nerdctl load` take; with -load it is given to docker at once. It takes root, as debootstrap does,
// and linux.
//
// An image's tag is a hash of everything that goes into it, so an archive that exists is not made again. Debian's part is
// the exception: which packages is hashed, their releases are those of the day when they were fetched, and they are kept
// until -debian-again.
//
// Each program below programs is a module of its own: in one graph containerd would raise Kubernetes' libraries.
package main
