package kind

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
)

// Paths in a node of what shows pods the serial number: containerd's base spec, and a hook.
const (
	specPath = "/kind/vsphere-sandbox-container.json"
	hookPath = "/kind/bin/vsphere-sandbox-firmware"
)

// firmwareFile is the serial number of a host with DMI. On these, serialUnit replaces it with the VM's.
const firmwareFile = "/sys/class/dmi/id/product_serial"

// firmwareHook shows a container the DMI data of a VM on hosts without DMI. A folder in /sys cannot be created, so
// /sys/class is replaced by one with the same links and DMI's beside them. It applies only to containers that mount the
// node's devices, as upstream's CSI node service does. It reads the container's state from stdin, and runs in the
// container's mount namespace.
const firmwareHook = `#!/bin/sh
set -eu
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
[ ! -e /sys/class/dmi/id ] || exit 0
[ -f ` + serialPath + ` ] || exit 0
bundle=$(jq -r .bundle)
jq -e 'any(.mounts[]; .destination == "/sys/devices")' "$bundle/config.json" >/dev/null || exit 0
root=$(jq -r .root.path "$bundle/config.json")
case $root in
/*) ;;
*) root=$bundle/$root ;;
esac
class=$root/sys/class
(cd "$class" && find . -type d -o -type l) | tar -C "$class" --no-recursion -cf "$bundle/class.tar" -T -
mount -t tmpfs -o mode=0755 tmpfs "$class"
tar -C "$class" -xf "$bundle/class.tar"
rm "$bundle/class.tar"
mkdir -p "$class/dmi/id"
cp ` + serialPath + ` "$class/dmi/id/product_serial"
cp ` + uuidPath + ` "$class/dmi/id/product_uuid"
mount -o remount,ro "$class"
`

// containerSpec is containerd's default container spec, as "ctr oci spec" prints it, plus the hook. Resource limits and
// the mount of /run are removed, since Kubernetes' containers have neither.
const containerSpec = `{
  "ociVersion": "1.1.0",
  "process": {
    "user": {"uid": 0, "gid": 0},
    "cwd": "/",
    "capabilities": {
      "bounding": ` + capabilities + `,
      "effective": ` + capabilities + `,
      "permitted": ` + capabilities + `
    },
    "noNewPrivileges": true
  },
  "root": {"path": "rootfs"},
  "mounts": [
    {"destination": "/proc", "type": "proc", "source": "proc", "options": ["nosuid", "noexec", "nodev"]},
    {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "strictatime", "mode=755", "size=65536k"]},
    {"destination": "/dev/pts", "type": "devpts", "source": "devpts", "options": ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"]},
    {"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": ["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"]},
    {"destination": "/dev/mqueue", "type": "mqueue", "source": "mqueue", "options": ["nosuid", "noexec", "nodev"]},
    {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["nosuid", "noexec", "nodev", "ro"]}
  ],
  "hooks": {"createContainer": [{"path": "` + hookPath + `"}]},
  "linux": {
    "resources": {"devices": [{"allow": false, "access": "rwm"}]},
    "cgroupsPath": "/default",
    "namespaces": [{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}, {"type": "network"}],
    "maskedPaths": ["/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats",
      "/proc/sched_debug", "/sys/firmware", "/sys/devices/virtual/powercap", "/proc/scsi"],
    "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
  }
}
`

const capabilities = `["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FSETID", "CAP_FOWNER", "CAP_MKNOD", "CAP_NET_RAW", "CAP_SETGID", "CAP_SETUID", ` +
	`"CAP_SETFCAP", "CAP_SETPCAP", "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT", "CAP_KILL", "CAP_AUDIT_WRITE"]`

// firmwarePatch makes containerd use the base spec.
const firmwarePatch = `[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  base_runtime_spec = "` + specPath + `"
`

// firmware reports whether pods need a serial number that this host has no DMI file for.
func (o Options) firmware() bool {
	if !o.Firmware {
		return false
	}
	_, err := os.Stat(firmwareFile)
	return errors.Is(err, fs.ErrNotExist)
}

func specFile(dir string) string { return filepath.Join(dir, "container.json") }
func hookFile(dir string) string { return filepath.Join(dir, "firmware-hook") }

// firmwareMounts returns the mounts of the spec and the hook.
func (o Options) firmwareMounts() []v1alpha4.Mount {
	if !o.firmware() {
		return nil
	}
	return []v1alpha4.Mount{
		{HostPath: specFile(o.Dir), ContainerPath: specPath, Readonly: true},
		{HostPath: hookFile(o.Dir), ContainerPath: hookPath, Readonly: true},
	}
}

// writeFirmware writes the files for firmwareMounts.
func (o Options) writeFirmware() error {
	if !o.firmware() {
		return nil
	}
	return errors.Join(
		os.WriteFile(specFile(o.Dir), []byte(containerSpec), 0o600),
		os.WriteFile(hookFile(o.Dir), []byte(firmwareHook), 0o700),
	)
}

// inotifyFile is Linux's limit of inotify instances per user. All nodes' programs run as root and share it. Many systems
// have 128, which a cluster of six nodes nearly uses.
const inotifyFile = "/proc/sys/fs/inotify/max_user_instances"

// Measured inotify instances: 25 for systemd, containerd, the kubelet and the control plane; 15 for a worker with a few
// pods; and those of the host's own programs.
const inotifyHead, inotifyWorker, inotifyOthers = 25, 15, 20

const inotifyTry = "sudo sysctl fs.inotify.max_user_instances=1024"

// inotify returns a warning if the host's limit is too low for the nodes, else "".
func inotify(file string, nodes int) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(text)))
	need := inotifyOthers + inotifyHead + inotifyWorker*(nodes-1)
	if err != nil || limit >= need {
		return ""
	}
	return fmt.Sprintf("%d nodes need about %d inotify instances, and this host's limit for root is %d: nodes may fail to start; try %s", nodes, need, limit, inotifyTry)
}

// Paths in a node of the mounts from Options.Dir. kind's nodes and ours show the UUID as the host's; the serial number
// needs the drop-in below.
const (
	uuidPath   = "/kind/product_uuid"
	serialPath = "/kind/product_serial"
	ownerPath  = "/kind/vsphere-sandbox"
	byIDPath   = "/dev/disk/by-id"
	unitPath   = "/etc/systemd/system/kubelet.service.d/20-vsphere-sandbox.conf"
)

// serialUnit sets the VM's serial number as the host's at every start of the kubelet, if the host has a DMI file for it.
// kind sets only the UUID.
const serialUnit = `[Service]
ExecStartPre=-/bin/sh -c 'f=/sys/devices/virtual/dmi/id/product_serial; [ ! -e $f ] || cmp -s ` + serialPath + ` $f || mount -o ro,bind ` + serialPath + ` $f'
`

// ownerFile identifies the owner: a container that mounts it is ours.
func ownerFile(dir string) string { return filepath.Join(dir, "sandbox") }

func unitFile(dir string) string { return filepath.Join(dir, "kubelet-serial.conf") }

// writeFiles writes what the nodes mount.
func (c *Cluster) writeFiles() error {
	if info, err := os.Stat(c.opts.Dir); err != nil {
		return fmt.Errorf("cluster: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("cluster: %s: is no directory", c.opts.Dir)
	}
	if c.opts.Volumes != "" { // otherwise the container runtime creates it, as root
		if err := os.MkdirAll(c.opts.Volumes, 0o700); err != nil {
			return fmt.Errorf("cluster: %w", err)
		}
	}
	// Mounted read-only. Programs in the nodes run as root, so only the owner needs to read it.
	files := map[string]string{
		ownerFile(c.opts.Dir): c.opts.Name + "\n",
		unitFile(c.opts.Dir):  serialUnit,
	}
	for _, m := range c.machines {
		if !m.vm {
			continue
		}
		for _, dir := range []string{m.dir, m.ByID} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return fmt.Errorf("node %q: %w", m.Name, err)
			}
		}
		if c.opts.Shares {
			if err := os.Symlink(c.opts.Volumes, filepath.Join(m.ByID, disk.SharesLink)); err != nil && !errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("node %q: %w", m.Name, err)
			}
		}
		files[filepath.Join(m.dir, "product_uuid")] = m.UUID + "\n"
		files[filepath.Join(m.dir, "product_serial")] = m.Serial + "\n"
	}
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return fmt.Errorf("cluster: %w", err)
		}
	}
	if err := c.opts.writeFirmware(); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return nil
}

// Identify changes the UUID of a node's VM, and the serial number derived from it. The node sees that at its next start.
func (c *Cluster) Identify(node, uuid string) error {
	serial, err := Serial(uuid)
	if err != nil {
		return fmt.Errorf("node %q: %w", node, err)
	}
	for _, m := range c.machines {
		if m.Name != node || !m.vm {
			continue
		}
		for name, text := range map[string]string{"product_uuid": uuid, "product_serial": serial} {
			// In place: this very file is mounted in the node.
			if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text+"\n"), 0o600); err != nil {
				return fmt.Errorf("node %q: %w", node, err)
			}
		}
		return nil
	}
	return fmt.Errorf("node %q: cluster %s has no VM with that node", node, c.Name())
}

// removeFiles removes what writeFiles and Create wrote, and no other files.
func (c *Cluster) removeFiles() error {
	for _, m := range c.machines {
		if m.vm {
			if err := os.RemoveAll(m.dir); err != nil {
				return err
			}
		}
	}
	for _, path := range []string{filepath.Join(c.opts.Dir, "nodes"), ownerFile(c.opts.Dir), unitFile(c.opts.Dir), specFile(c.opts.Dir), hookFile(c.opts.Dir), c.Kubeconfig()} {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) && !isNotEmpty(err) {
			return err
		}
	}
	return nil
}
