package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
	return os.WriteFile(filepath.Join(root, "kind/version"), []byte(b.release.version), 0o644)
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

// suite is Debian's release.
const suite = "bookworm"

// packages are what a node needs of Debian besides the smallest system.
const packages = "systemd,iptables,nftables,iproute2,conntrack,ethtool,mount,util-linux,kmod,procps,libseccomp2,runc,hostname,jq,e2fsprogs"

// debian fetches and unpacks Debian's packages, unless it has been done.
func (b *build) debian(ctx context.Context) error { return b.bootstrap(ctx, b.debianDir(), packages) }

// bootstrap fetches and unpacks the smallest system of Debian's with more packages, unless the folder has them.
func (b *build) bootstrap(ctx context.Context, dir, packages string) error {
	if _, err := os.Stat(dir); err == nil && !b.debianAgain {
		return nil
	}
	fresh := dir + ".new"
	if err := errors.Join(remove(fresh), remove(dir)); err != nil {
		return err
	}
	if err := command(ctx, "", nil, "debootstrap", "--variant=minbase", "--include="+packages, suite, fresh, b.mirror); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return fmt.Errorf("%w\nis %s reachable? -mirror takes another one", err, b.mirror)
	}
	return os.Rename(fresh, dir)
}

// debianDir is where they are kept: another list is another folder.
func (b *build) debianDir() string {
	return b.path(fmt.Sprintf("debian-%s-%.6x", suite, sha256.Sum256([]byte(packages))))
}

// prune takes from the node's files what no node needs: lists, texts, languages, and every unit that systemd would start
// of itself but the journal and the kernel's settings.
func prune(root string) error {
	for _, path := range []string{
		"var/lib/apt/lists", "var/cache/apt", "var/cache/debconf", "var/lib/dpkg/info", "var/log", "usr/share/doc", "usr/share/man",
		"usr/share/info", "usr/share/locale", "usr/share/i18n", "usr/share/zoneinfo", "usr/lib/x86_64-linux-gnu/gconv",
	} {
		if err := os.RemoveAll(filepath.Join(root, path)); err != nil {
			return err
		}
	}
	for _, path := range []string{"var/log", "tmp"} {
		if err := os.MkdirAll(filepath.Join(root, path), 0o755); err != nil {
			return err
		}
	}
	for _, units := range []string{"etc/systemd/system", "usr/lib/systemd/system"} {
		err := filepath.WalkDir(filepath.Join(root, units), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(filepath.Dir(path), ".wants") {
				return err
			}
			if name := entry.Name(); strings.Contains(name, "journald") || name == "systemd-sysctl.service" {
				return nil
			}
			return os.Remove(path)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
