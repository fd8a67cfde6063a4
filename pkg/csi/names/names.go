package names

import (
	"fmt"
	"strings"
)

// Driver is the CSI driver's name, which PersistentVolumes and StorageClasses carry for ever: upstream's.
const Driver = "csi.vsphere.vmware.com"

// Keys of the publish context, and the value of AttributeType for disks (upstream pkg/csi/service/common/constants.go).
const (
	AttributeType = "type"
	DiskUUID      = "diskUUID"
	BlockVolume   = "vSphere CNS Block Volume"
)

// Parameters of a StorageClass. Upstream takes them in any case; so do we.
const (
	ParameterPolicy    = "storagepolicyname"
	ParameterDatastore = "datastoreurl"
	ParameterFSType    = "csi.storage.k8s.io/fstype"
)

// TopologyPrefix stands before a tag category's name in topology keys: topology.csi.vmware.com/k8s-zone.
const TopologyPrefix = "topology.csi.vmware.com/"

// MaxVolumes is how many volumes a node takes: four controllers of fifteen units, less the boot disk.
const MaxVolumes = 59

// DeviceLink is the name of a disk's link in /dev/disk/by-id.
func DeviceLink(diskUUID string) string { return "wwn-0x" + Compact(diskUUID) }

// Compact is a UUID in the form in which a publish context and a device link have it: hex digits in lower case.
func Compact(uuid string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, uuid))
}

// SnapshotID is a snapshot's handle: upstream's "<volume>+<snapshot>".
func SnapshotID(volume, snapshot string) string { return volume + "+" + snapshot }

// SplitSnapshotID is the inverse of [SnapshotID].
func SplitSnapshotID(id string) (volume, snapshot string, err error) {
	volume, snapshot, ok := strings.Cut(id, "+")
	if !ok || volume == "" || snapshot == "" || strings.Contains(snapshot, "+") {
		return "", "", fmt.Errorf("snapshot id %q: not <volume>+<snapshot>", id)
	}
	return volume, snapshot, nil
}
