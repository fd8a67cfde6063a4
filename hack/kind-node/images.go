package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// podImage is an image that a pod of the cluster's own runs.
type podImage struct {
	// files are the folder with its files, below images/ of the working folder.
	files string
	// names are all its names: kubeadm uses a separate name for each part of Kubernetes.
	names []string
	// entrypoint is the program, none where the pod names it.
	entrypoint []string
}

// podImages are all of them, by the names that kubeadm of this release asks for.
func podImages() []podImage {
	const registry = "registry.k8s.io/"
	return []podImage{
		{"kube", []string{
			registry + "kube-apiserver:" + kubernetesVersion, registry + "kube-controller-manager:" + kubernetesVersion,
			registry + "kube-scheduler:" + kubernetesVersion, registry + "kube-proxy:" + kubernetesVersion, registry + "etcd:3.6.8-0",
		}, nil},
		{"coredns", []string{registry + "coredns/coredns:v1.14.2"}, []string{"/coredns"}},
		{"pause", []string{registry + "pause:3.10", registry + "pause:3.10.2"}, []string{"/pause"}},
	}
}

// images lays out what is in the images, and writes them as one OCI layout.
func (b *build) images(ctx context.Context) error {
	for from, to := range map[string]string{
		"kube": "kube/usr/local/bin/kube", "coredns": "coredns/coredns", "pause": "pause/pause",
	} {
		if err := install(b.in("programs/"+from), b.in("images/"+to)); err != nil {
			return err
		}
	}
	kube := b.in("images/kube")
	for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubectl", "etcd"} {
		if err := link("kube", filepath.Join(kube, "usr/local/bin", name)); err != nil {
			return err
		}
	}
	if err := packetFilter(b.in("root"), kube); err != nil {
		return err
	}
	return writeLayout(ctx, b.in("images"), b.in("layout"), podImages())
}

// packetFilter copies the tools that kube-proxy runs from the node's files: nft, iptables, its modules, and what all of
// those are linked with.
func packetFilter(root, to string) error {
	files := []string{"usr/sbin/nft", "usr/sbin/xtables-nft-multi"}
	modules, err := filepath.Glob(filepath.Join(root, libraries, "xtables", "*.so"))
	if err != nil {
		return err
	}
	if len(modules) == 0 {
		return fmt.Errorf("%s has no modules of iptables", filepath.Join(root, libraries, "xtables"))
	}
	for _, path := range modules {
		if info, err := os.Lstat(path); err != nil {
			return err
		} else if info.Mode().IsRegular() {
			files = append(files, filepath.Join(libraries, "xtables", filepath.Base(path)))
		}
	}
	linked, err := needed(root, files)
	if err != nil {
		return err
	}
	for _, path := range slices.Concat(files, linked) {
		if err := install(filepath.Join(root, path), filepath.Join(to, path)); err != nil {
			return err
		}
	}
	links := map[string]string{
		"lib": "usr/lib", "lib64": "usr/lib64", "usr/lib64/" + loader: "../lib/x86_64-linux-gnu/" + loader,
	}
	for _, name := range []string{
		"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore",
	} {
		links["usr/sbin/"+name] = "xtables-nft-multi"
	}
	// Modules that are links to others: libxt_NOTRACK.so and the like.
	for _, path := range modules {
		if target, err := os.Readlink(path); err == nil {
			links[filepath.Join(libraries, "xtables", filepath.Base(path))] = target
		}
	}
	for path, target := range links {
		if err := link(target, filepath.Join(to, path)); err != nil {
			return err
		}
	}
	return nil
}
