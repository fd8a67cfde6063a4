package names

import (
	"fmt"
	"strings"
)

// Driver is the CSI driver's name in PersistentVolumes and StorageClasses, the same as upstream's.
const Driver = "csi.vsphere.vmware.com"

// The keys of the publish context, and the value of AttributeType for disks (upstream pkg/csi/service/common/constants.go).
const (
	AttributeType = "type"
	DiskUUID      = "diskUUID"
	BlockVolume   = "vSphere CNS Block Volume"
	FileVolume    = "vSphere CNS File Volume"
	// Export is the NFS 4.1 export of a file volume, "SERVER:/PATH".
	Export = "Nfsv4AccessPoint"
)

// filePrefix starts the id of a file volume in CNS.
const filePrefix = "file:"

// IsFileVolume reports whether a volume is a share of a vSAN file service, which many nodes mount, and not a disk.
func IsFileVolume(id string) bool { return strings.HasPrefix(id, filePrefix) }

// The parameters of a StorageClass, in any case, as upstream.
const (
	ParameterPolicy    = "storagepolicyname"
	ParameterDatastore = "datastoreurl"
	ParameterFSType    = "csi.storage.k8s.io/fstype"
	// ParameterOldFSType is its deprecated name, which the provisioner reads too.
	ParameterOldFSType = "fstype"
)

// FileSystems returns the file systems that the node service makes; the first one is the default.
func FileSystems() []string { return []string{"ext4", "ext3", "xfs"} }

// NetworkFileSystems returns the file systems that stand for a file volume.
func NetworkFileSystems() []string { return []string{"nfs4", "nfs"} }

// The annotations of a claim with the health of its volume, and the values of the first, as upstream's syncer writes them on a Supervisor
// (pkg/syncer/types.go).
const (
	HealthAnnotation          = "volumehealth.storage.kubernetes.io/health"
	HealthTimestampAnnotation = "volumehealth.storage.kubernetes.io/health-timestamp"
	Accessible                = "accessible"
	Inaccessible              = "inaccessible"
)

// TopologyPrefix is the prefix of a tag category's name in topology keys: topology.csi.vmware.com/k8s-zone.
const TopologyPrefix = "topology.csi.vmware.com/"

// MaxVolumes is upstream's default for the number of volumes per node, which every release of vSphere takes: four controllers
// with fifteen disks each, minus the boot disk. vSphere 8 takes 255.
const MaxVolumes = 59

// DeviceLink returns the name of a disk's symlink in /dev/disk/by-id.
func DeviceLink(diskUUID string) string { return "wwn-0x" + Compact(diskUUID) }

// Compact returns a UUID in the form of a publish context and of a symlink: lower-case hex digits.
func Compact(uuid string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, uuid))
}

// SnapshotID returns a snapshot's handle: upstream's "<volume>+<snapshot>".
func SnapshotID(volume, snapshot string) string { return volume + "+" + snapshot }

// SplitSnapshotID is the inverse of [SnapshotID].
func SplitSnapshotID(id string) (volume, snapshot string, err error) {
	volume, snapshot, ok := strings.Cut(id, "+")
	if !ok || volume == "" || snapshot == "" || strings.Contains(snapshot, "+") {
		return "", "", fmt.Errorf("snapshot id %q: not <volume>+<snapshot>", id)
	}
	return volume, snapshot, nil
}
