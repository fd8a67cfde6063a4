package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/kubernetes/shell"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
)

// Below separates, in the host path of a mount, the folder that the container must not leave from the path below it, as it does
// for rsync: a subPath of a volume is VOLUME/./SUBPATH.
const Below = "/./"

// files returns what a container sees: its own files, and its mounts.
func (r *Runtime) files(c *container, pod *runtimeapi.PodSandboxConfig) (*shell.FS, error) {
	readOnly := c.config.GetLinux().GetSecurityContext().GetReadonlyRootfs()
	own := shell.Mount{
		Path: "/", Base: c.dir(), ReadOnly: readOnly, Make: func() error { return c.makeDir(pod) },
		Usage: func() (string, int64, int64, error) {
			return "overlay", int64(r.opts.DiskBytes), int64(r.opts.DiskBytes / 2), nil
		},
	}
	mounts := []shell.Mount{own}
	for _, m := range c.config.GetMounts() {
		host := m.GetHostPath()
		if host == "" {
			continue // an image volume: images have no files
		}
		mount := shell.Mount{Path: path.Clean(m.GetContainerPath()), ReadOnly: m.GetReadonly()}
		base, sub, ok := strings.Cut(host, Below)
		switch {
		case !r.inside(host):
			mount.Base, mount.Sub = r.hostDir(), strings.TrimPrefix(filepath.Clean(host), "/")
			if err := r.makeHostPath(mount.Sub); err != nil {
				return nil, err
			}
		case ok:
			mount.Base, mount.Sub = base, sub
		default:
			mount.Base = host
			if info, err := os.Stat(host); err == nil && !info.IsDir() {
				mount.Base, mount.Sub = filepath.Split(host)
			}
		}
		if strings.Contains(host, csiVolumes) {
			mount.Usage = func() (string, int64, int64, error) { return volumeUsage(mount.Base) }
			mount.Bounded = true
		}
		mounts = append(mounts, mount)
	}
	return shell.NewFS(mounts), nil
}

// inside reports whether a path of the host is below the kubelet's root.
func (r *Runtime) inside(host string) bool {
	return strings.HasPrefix(filepath.Clean(host)+"/", filepath.Clean(r.opts.RootDir)+"/")
}

// makeHostPath makes a path of the VM's root file system a folder, unless it is there.
func (r *Runtime) makeHostPath(sub string) error {
	if err := os.MkdirAll(r.hostDir(), 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(r.hostDir())
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := root.Stat(sub); sub == "" || err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return root.MkdirAll(sub, 0o755)
}

// makeDir makes the container's own files, with a place for each mount, when something first looks at them.
func (c *container) makeDir(pod *runtimeapi.PodSandboxConfig) error {
	dir := c.dir()
	if _, err := os.Lstat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(c.runtime.containersDir(), 0o700); err != nil {
		return err
	}
	made, err := os.MkdirTemp(c.runtime.containersDir(), "new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)
	root, err := os.OpenRoot(made)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, d := range []string{"bin", "dev", "etc", "home", "mnt", "opt", "proc", "root", "run", "sbin", "srv", "sys", "tmp", "usr/bin", "var/log", "var/run"} {
		if err := root.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		"etc/hostname": c.hostname() + "\n",
		"etc/passwd":   "root:x:0:0:root:/root:/bin/sh\nnonroot:x:65532:65532:nonroot:/home:/bin/false\n",
		"etc/group":    "root:x:0:\nnonroot:x:65532:\n",
		"etc/resolv.conf": func() string {
			var b strings.Builder
			for _, s := range pod.GetDnsConfig().GetServers() {
				fmt.Fprintf(&b, "nameserver %s\n", s)
			}
			if search := pod.GetDnsConfig().GetSearches(); len(search) > 0 {
				fmt.Fprintf(&b, "search %s\n", strings.Join(search, " "))
			}
			return b.String()
		}(),
	} {
		if err := root.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, m := range c.config.GetMounts() {
		at := strings.TrimPrefix(path.Clean(m.GetContainerPath()), "/")
		if at == "" || at == "." {
			continue
		}
		_ = root.MkdirAll(path.Dir(at), 0o755) // below another mount it is not needed
		if info, err := os.Stat(m.GetHostPath()); err == nil && !info.IsDir() {
			_ = root.WriteFile(at, nil, 0o644)
		} else {
			_ = root.MkdirAll(at, 0o755)
		}
	}
	if err := os.Chmod(made, 0o755); err != nil {
		return err
	}
	return os.Rename(made, dir)
}

// csiVolumes is in the host path of a volume of the CSI driver.
const csiVolumes = "/kubernetes.io~csi/"

// volumeUsage returns how full the disk of a volume is.
func volumeUsage(published string) (device string, total, used int64, err error) {
	data, err := filepath.EvalSymlinks(published)
	if err != nil {
		return "", 0, 0, syscall.EIO // the path is the host's
	}
	d, err := disk.Open(filepath.Dir(data))
	if err != nil {
		return "", 0, 0, syscall.EIO
	}
	fileSystem, _, err := d.FileSystem()
	if err != nil {
		return "", 0, 0, syscall.EIO
	}
	usage, err := d.Usage(context.Background())
	if err != nil {
		return "", 0, 0, syscall.EIO
	}
	return "/dev/sdb", fileSystem.Bytes, usage.Bytes, nil
}
