package main

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// podImage is an image that a pod of the cluster's own runs.
type podImage struct {
	// files are the folder with its files, below images/ of the working folder.
	files string
	// names are all its names: kubeadm uses a separate name for each part of Kubernetes.
	names []string
	// entrypoint is the program, none where the pod names it; command are its default arguments, user is who runs it.
	entrypoint, command []string
	user                string
}

// podImages are all of them, by the names that kubeadm lists.
func podImages(listed []string) []podImage {
	kube := podImage{files: "kube"}
	coredns := podImage{files: "coredns", entrypoint: []string{"/coredns"}}
	pause := podImage{files: "pause", names: []string{"registry.k8s.io/pause:3.10"}, entrypoint: []string{"/pause"}} // containerd's config.toml names it
	for _, name := range listed {
		of := &kube
		switch {
		case strings.Contains(name, "/coredns:"):
			of = &coredns
		case strings.Contains(name, "/pause:"):
			of = &pause
		}
		if !slices.Contains(of.names, name) {
			of.names = append(of.names, name)
		}
	}
	return []podImage{kube, coredns, pause}
}

// listed returns the names of the images that this release's kubeadm asks for.
func (b *build) listed(ctx context.Context) ([]string, error) {
	c := exec.CommandContext(ctx, b.in("programs/kube"), "config", "images", "list", "--kubernetes-version", b.release.version)
	c.Args[0] = "kubeadm" // the program acts as the one that it is called
	var wrong bytes.Buffer
	c.Stderr = &wrong
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("kubeadm: %w\n%s", err, tail(wrong.String(), 10))
	}
	return strings.Fields(string(out)), nil
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
	listed, err := b.listed(ctx)
	if err != nil {
		return err
	}
	return writeLayout(ctx, b.in("images"), b.in("layout"), podImages(listed))
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

// libraries is where Debian keeps shared libraries.
const libraries = "usr/lib/x86_64-linux-gnu"

// loader is the library that programs name as their interpreter, at /lib64.
const loader = "ld-linux-x86-64.so.2"

// needed are the shared libraries that programs and libraries of a root need, and what those need, as paths in the root
// with the loader's among them. A missing one is an error: the program would only fail when it is run.
func needed(root string, files []string) ([]string, error) {
	found := []string{libraries + "/" + loader}
	for todo := slices.Clone(files); len(todo) > 0; todo = todo[1:] {
		f, err := elf.Open(filepath.Join(root, todo[0]))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", todo[0], err)
		}
		names, err := f.ImportedLibraries()
		_ = f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", todo[0], err)
		}
		for _, name := range names {
			path := filepath.Join(libraries, name)
			if slices.Contains(found, path) {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				return nil, fmt.Errorf("%s needs %s: %w", todo[0], name, err)
			}
			found = append(found, path)
			todo = append(todo, path)
		}
	}
	slices.Sort(found)
	return found, nil
}

// contents puts the pods' images into the folder that the node's containerd keeps its own in, by a containerd that runs
// here for that long: no container is needed. They are pinned, so that no kubelet ever collects them; they are unpacked on
// the node, where it is known how.
func (b *build) contents(ctx context.Context) (err error) {
	layout := b.in("layout.tar")
	if err := pack(ctx, b.in("layout"), layout); err != nil {
		return err
	}
	// A socket's path may have some 100 characters, a cache's may be longer.
	dir, err := os.MkdirTemp("", "kind-node-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove(dir)) }()
	settings := filepath.Join(dir, "config.toml")
	// What would look for this machine's networks and devices is off.
	const off = "version = 3\ndisabled_plugins = ['io.containerd.grpc.v1.cri', 'io.containerd.cri.v1.images', 'io.containerd.cri.v1.runtime', 'io.containerd.nri.v1.nri']\n"
	if err := os.WriteFile(settings, []byte(off), 0o600); err != nil {
		return err
	}
	address, log := filepath.Join(dir, "c.sock"), b.in("containerd.log")
	out, err := os.Create(log)
	if err != nil {
		return err
	}
	defer out.Close()
	daemon := exec.CommandContext(ctx, b.in("programs/containerd"), "--config", settings, "--address", address,
		"--state", filepath.Join(dir, "state"), "--root", b.in("root/var/lib/containerd"))
	daemon.Stdout, daemon.Stderr = out, out
	daemon.Cancel = func() error { return daemon.Process.Signal(syscall.SIGTERM) }
	daemon.WaitDelay = 10 * time.Second
	if err := daemon.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { _ = daemon.Wait(); close(ended) }()
	defer func() {
		_ = daemon.Process.Signal(syscall.SIGTERM)
		<-ended
	}()
	if err := listening(ctx, address, ended); err != nil {
		said, _ := os.ReadFile(log)
		return fmt.Errorf("containerd: %w\n%s", err, tail(string(said), 10))
	}
	return command(ctx, "", nil, b.in("programs/ctr"), "--address", address, "--namespace", "k8s.io", "images", "import",
		"--no-unpack", "--all-platforms", "--label=io.cri-containerd.pinned=pinned", layout)
}

// listening waits until a server listens on a socket, or until it has exited.
func listening(ctx context.Context, address string, ended <-chan struct{}) error {
	var d net.Dialer
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if conn, err := d.DialContext(ctx, "unix", address); err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			return errors.New("it ended before it listened")
		case <-tick.C:
		}
	}
}
