package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
)

// root lays the node's files out: Debian's, the programs, and those below rootfs.
func (b *build) root(ctx context.Context) error {
	root := b.in("root")
	if err := command(ctx, "", nil, "cp", "--archive", "--reflink=auto", b.debianDir(), root); err != nil {
		return err
	}
	if err := prune(root); err != nil {
		return err
	}
	for from, to := range map[string]string{
		"kube": "usr/local/bin", "containerd": "usr/local/bin", "containerd-shim-runc-v2": "usr/local/bin", "ctr": "usr/local/bin",
		"ptp": "opt/cni/bin", "loopback": "opt/cni/bin", "host-local": "opt/cni/bin", "portmap": "opt/cni/bin",
	} {
		if err := install(b.in("programs/"+from), filepath.Join(root, to, from)); err != nil {
			return err
		}
	}
	if err := b.own(root); err != nil {
		return err
	}
	wants := "etc/systemd/system/multi-user.target.wants/"
	for path, target := range map[string]string{
		"usr/bin/kubeadm": "/usr/local/bin/kube", "usr/bin/kubectl": "/usr/local/bin/kube", "usr/bin/kubelet": "/usr/local/bin/kube",
		"usr/sbin/init":                     "/lib/systemd/systemd",
		"etc/systemd/system/default.target": "/lib/systemd/system/multi-user.target",
		// It would register its programs with the kernel, which is the host's.
		"etc/systemd/system/systemd-binfmt.service": "/dev/null",
		wants + "containerd.service":                "../containerd.service",
		wants + "kubelet.service":                   "../kubelet.service",
		wants + "pod-network.service":               "../pod-network.service",
	} {
		if err := link(target, filepath.Join(root, path)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "etc/kubernetes/manifests"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "kind/version"), []byte(kubernetesVersion), 0o644)
}

// own copies the files below rootfs, independent of the umask.
func (b *build) own(root string) error {
	from := filepath.Join(b.source, "rootfs")
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		return install(path, filepath.Join(root, name))
	})
}

// install copies a file, as one that everybody may read, and run if it can be run.
func install(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if info.Mode()&0o111 != 0 {
		mode = 0o755
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(to, data, mode); err != nil {
		return err
	}
	return os.Chmod(to, mode)
}

// link makes a symbolic link, in place of what was there.
func link(target, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	return os.Symlink(target, path)
}
