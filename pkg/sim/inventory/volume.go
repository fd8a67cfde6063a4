package inventory

import (
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// format makes the datastore a volume of its own type and size; with every mount vcsim added a tebibyte.
func format(ds *mo.Datastore, spec *topology.Datastore, id string) {
	shared := len(ds.Host) > 1
	capacity, free := int64(spec.Capacity), int64(spec.Capacity-min(spec.Used, spec.Capacity))

	info := *ds.Info.GetDatastoreInfo()
	info.FreeSpace = free
	info.MaxFileSize, info.MaxMemoryFileSize = capacity, capacity
	info.MaxVirtualDiskCapacity = 62 << 40 // vSphere's limit
	info.ContainerId = volumeName(spec.Type, id)

	kind := fileSystem(spec.Type)
	volume := types.HostFileSystemVolume{Type: kind, Name: spec.Name, Capacity: capacity}
	switch spec.Type {
	case topology.NFS, topology.NFS41:
		nas := &types.HostNasVolume{HostFileSystemVolume: volume, RemoteHost: "nfs.sandbox.test", RemotePath: "/export/" + spec.Name}
		nas.RemoteHostNames = []string{nas.RemoteHost}
		if spec.Type == topology.NFS41 {
			nas.SecurityType = string(types.HostNasVolumeSecurityTypeAUTH_SYS)
		}
		ds.Info = &types.NasDatastoreInfo{DatastoreInfo: info, Nas: nas}
	case topology.VSAN:
		ds.Info = &types.VsanDatastoreInfo{DatastoreInfo: info, MembershipUuid: id}
		ds.Capability.TopLevelDirectoryCreateSupported = new(false)
	case topology.VVOL:
		ds.Info = &types.VvolDatastoreInfo{
			DatastoreInfo: info,
			VvolDS:        &types.HostVvolVolume{HostFileSystemVolume: volume, ScId: info.ContainerId},
		}
		ds.Capability.TopLevelDirectoryCreateSupported = new(false)
	default:
		ds.Info = &types.VmfsDatastoreInfo{
			DatastoreInfo: info,
			Vmfs: &types.HostVmfsVolume{
				HostFileSystemVolume: volume,
				BlockSizeMb:          1,
				MajorVersion:         6,
				Version:              "6.82",
				Uuid:                 id,
				Ssd:                  new(true),
				Local:                new(!shared),
			},
		}
	}
	ds.Summary.Type = kind
	ds.Summary.Capacity = capacity
	ds.Summary.FreeSpace = free
	ds.Summary.MultipleHostAccess = &shared
}

// fileSystem is the type as vSphere writes it.
func fileSystem(t topology.DatastoreType) string {
	switch t {
	case topology.NFS:
		return string(types.HostFileSystemVolumeFileSystemTypeNFS)
	case topology.NFS41:
		return string(types.HostFileSystemVolumeFileSystemTypeNFS41)
	case topology.VSAN:
		return string(types.HostFileSystemVolumeFileSystemTypeVsan)
	case topology.VVOL:
		return string(types.HostFileSystemVolumeFileSystemTypeVVOL)
	}
	return string(types.HostFileSystemVolumeFileSystemTypeVMFS)
}

// volumeName is the name of the volume below /vmfs/volumes on a host, made of a UUID in the form that is usual for the
// type: two groups of 16 digits behind "vsan:" or "vvol:", two of 8 for NFS.
func volumeName(t topology.DatastoreType, id string) string {
	digits := strings.ReplaceAll(id, "-", "")
	switch t {
	case topology.NFS, topology.NFS41:
		return digits[:8] + "-" + digits[8:16]
	case topology.VSAN:
		return "vsan:" + digits[:16] + "-" + digits[16:]
	case topology.VVOL:
		return "vvol:" + digits[:16] + "-" + digits[16:]
	}
	return id
}
