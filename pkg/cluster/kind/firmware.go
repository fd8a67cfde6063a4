package kind

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
)

// Where a node has what shows pods the serial number: what containerd makes containers of, and a hook.
const (
	specPath = "/kind/vsphere-sandbox-container.json"
	hookPath = "/kind/bin/vsphere-sandbox-firmware"
)

// firmwareFile is where a machine that has one shows its serial number. There serialUnit puts the VM's in its place.
const firmwareFile = "/sys/class/dmi/id/product_serial"

// firmwareHook shows a container what a VM's firmware tells, on machines that have none: a folder in /sys cannot be made, so
// /sys/class is one with the same links, and DMI's beside them. That is for containers alone which mount the node's devices, as
// upstream's CSI node service does. It gets the container's state on its standard input, and runs among the container's mounts.
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

// containerSpec is what containerd begins with for every container, as "ctr oci spec" tells it, but for the hook, and for limits of
// resources and a mount of /run, which Kubernetes has none of.
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

// firmwarePatch has containerd begin with it.
const firmwarePatch = `[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  base_runtime_spec = "` + specPath + `"
`

// firmware tells whether pods are to be shown a serial number that this machine has no place for.
func (o Options) firmware() bool {
	if !o.Firmware {
		return false
	}
	_, err := os.Stat(firmwareFile)
	return errors.Is(err, fs.ErrNotExist)
}

func specFile(dir string) string { return filepath.Join(dir, "container.json") }
func hookFile(dir string) string { return filepath.Join(dir, "firmware-hook") }

// firmwareMounts are what nodes mount for it.
func (o Options) firmwareMounts() []v1alpha4.Mount {
	if !o.firmware() {
		return nil
	}
	return []v1alpha4.Mount{
		{HostPath: specFile(o.Dir), ContainerPath: specPath, Readonly: true},
		{HostPath: hookFile(o.Dir), ContainerPath: hookPath, Readonly: true},
	}
}

// writeFirmware makes what nodes mount for it; the hook is run.
func (o Options) writeFirmware() error {
	if !o.firmware() {
		return nil
	}
	return errors.Join(
		os.WriteFile(specFile(o.Dir), []byte(containerSpec), 0o600),
		os.WriteFile(hookFile(o.Dir), []byte(firmwareHook), 0o700),
	)
}
