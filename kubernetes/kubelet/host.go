package kubelet

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/kubernetes/pkg/volume/util/subpath"

	podruntime "github.com/vsphere-sandbox/vsphere-sandbox/kubernetes/runtime"
)

// vmRoot is the kubelet's root directory. What the kubelet believes to be elsewhere on its host is below it, too: the VM's root
// file system is its folder host.
type vmRoot string

// at returns where a path of the VM is on this host.
func (r vmRoot) at(path string) string {
	if r.has(path) {
		return path
	}
	return filepath.Join(string(r), podruntime.HostDir, path)
}

// has reports whether a path is below the root.
func (r vmRoot) has(path string) bool {
	return strings.HasPrefix(filepath.Clean(path)+"/", filepath.Clean(string(r))+"/")
}

// vmOS is the kubelet's view of its operating system. It changes nothing outside of its root: /var/log/containers, where it puts
// links to logs, is the host's.
type vmOS struct {
	kubecontainer.RealOS
	root vmRoot
}

// MkdirAll implements kubecontainer.OSInterface, as the following do.
func (o vmOS) MkdirAll(path string, perm os.FileMode) error {
	if !o.root.has(path) {
		return nil
	}
	return o.RealOS.MkdirAll(path, perm)
}

// Symlink makes no link outside of the root.
func (o vmOS) Symlink(oldname, newname string) error {
	if !o.root.has(newname) {
		return nil
	}
	return o.RealOS.Symlink(oldname, newname)
}

// Remove removes nothing outside of the root.
func (o vmOS) Remove(path string) error {
	if !o.root.has(path) {
		return fs.ErrNotExist
	}
	return o.RealOS.Remove(path)
}

// RemoveAll removes nothing outside of the root.
func (o vmOS) RemoveAll(path string) error {
	if !o.root.has(path) {
		return nil
	}
	return o.RealOS.RemoveAll(path)
}

// Glob finds nothing outside of the root.
func (o vmOS) Glob(pattern string) ([]string, error) {
	if !o.root.has(pattern) {
		return nil, nil
	}
	return o.RealOS.Glob(pattern)
}

// vmHost is kubemark's fake of the host's file system, which knows no file, except for what subPath needs.
type vmHost struct {
	*hostutil.FakeHostUtil
	root vmRoot
}

// PathExists implements hostutil.HostUtils.
func (h vmHost) PathExists(path string) (bool, error) {
	_, err := os.Stat(h.root.at(path))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// GetMode implements hostutil.HostUtils.
func (h vmHost) GetMode(path string) (os.FileMode, error) {
	info, err := os.Stat(h.root.at(path))
	if errors.Is(err, fs.ErrNotExist) && !h.root.has(path) {
		return 0o755, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}

// subPaths implements subPath without mounts: the path that it returns says which folder must not be left, and the runtime keeps
// to it each time that it opens a file.
type subPaths struct{ root vmRoot }

var _ subpath.Interface = subPaths{}

// PrepareSafeSubpath implements subpath.Interface.
func (s subPaths) PrepareSafeSubpath(p subpath.Subpath) (string, func(), error) {
	sub, err := filepath.Rel(p.VolumePath, p.Path)
	if err != nil {
		return "", nil, err
	}
	base := s.root.at(p.VolumePath)
	volume, err := os.OpenRoot(base)
	if err != nil {
		return "", nil, err
	}
	defer volume.Close()
	if _, err := volume.Stat(sub); err != nil {
		return "", nil, err
	}
	return base + podruntime.Below + sub, func() {}, nil
}

// CleanSubPaths implements subpath.Interface: nothing is mounted.
func (s subPaths) CleanSubPaths(string, string) error { return nil }

// SafeMakeDir implements subpath.Interface.
func (s subPaths) SafeMakeDir(subdir, base string, perm os.FileMode) error {
	base = s.root.at(base)
	if err := os.MkdirAll(base, 0o755); err != nil {
		return err
	}
	volume, err := os.OpenRoot(base)
	if err != nil {
		return err
	}
	defer volume.Close()
	return volume.MkdirAll(subdir, perm.Perm())
}
