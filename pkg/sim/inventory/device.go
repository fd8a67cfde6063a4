package inventory

import (
	"fmt"
	"strings"

	"github.com/vmware/govmomi/simulator/esx"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// The keys and units of devices in vSphere.
const (
	pciKey    = 100
	scsiKey   = 1000
	diskKey   = 2000
	cdromKey  = 3000
	ideKey    = 200
	cardKey   = 4000
	cardUnit  = 7
	maxCards  = 10
	scsiUnit  = 3
	scsiOwn   = 7 // the unit of the controller on its bus
	systemKiB = 20 << 20
)

// devices returns the devices of a VM: the default ones, a disk on a paravirtual controller, an empty CD-ROM
// drive, and its NICs.
func devices(disk *types.VirtualDisk, cards []types.BaseVirtualDevice) []types.BaseVirtualDevice {
	list := duplicate(esx.VirtualDevice)
	keys := []int32{scsiKey}
	for _, c := range cards {
		keys = append(keys, c.GetVirtualDevice().Key)
	}
	for _, d := range list {
		switch c := d.(type) {
		case *types.VirtualPCIController:
			if c.Key == pciKey {
				c.Device = append(c.Device, keys...)
			}
		case *types.VirtualIDEController:
			if c.Key == ideKey {
				c.Device = append(c.Device, cdromKey)
			}
		}
	}
	scsi := &types.ParaVirtualSCSIController{}
	scsi.Key = scsiKey
	scsi.ControllerKey = pciKey
	scsi.UnitNumber = types.NewInt32(scsiUnit)
	scsi.DeviceInfo = &types.Description{Label: "SCSI controller 0", Summary: "VMware paravirtual SCSI"}
	scsi.Device = []int32{disk.Key}
	scsi.HotAddRemove = new(true)
	scsi.SharedBus = types.VirtualSCSISharingNoSharing
	scsi.ScsiCtlrUnitNumber = scsiOwn
	return append(append(list, scsi, disk, cdrom()), cards...)
}

// cdrom returns an empty CD-ROM drive, which takes the drive of the client's computer.
func cdrom() *types.VirtualCdrom {
	drive := &types.VirtualCdrom{}
	drive.Key = cdromKey
	drive.ControllerKey = ideKey
	drive.UnitNumber = new(int32(0))
	drive.DeviceInfo = &types.Description{Label: "CD/DVD drive 1", Summary: "Remote device"}
	drive.Backing = &types.VirtualCdromRemotePassthroughBackingInfo{
		VirtualDeviceRemoteDeviceBackingInfo: types.VirtualDeviceRemoteDeviceBackingInfo{UseAutoDetect: new(false)},
	}
	drive.Connectable = &types.VirtualDeviceConnectInfo{AllowGuestControl: true, Status: string(types.VirtualDeviceConnectInfoStatusUntried)}
	return drive
}

// systemDisk returns the system disk of a VM.
func systemDisk(file, id string, ds vc.Ref) *types.VirtualDisk {
	no := func() *bool { return new(false) }
	disk := &types.VirtualDisk{CapacityInKB: systemKiB, CapacityInBytes: systemKiB << 10}
	disk.Key = diskKey
	disk.ControllerKey = scsiKey
	disk.UnitNumber = types.NewInt32(0)
	disk.DeviceInfo = &types.Description{Label: "Hard disk 1", Summary: "20,971,520 KB"}
	disk.Backing = &types.VirtualDiskFlatVer2BackingInfo{
		VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: file, Datastore: &ds},
		DiskMode:                     string(types.VirtualDiskModePersistent),
		ThinProvisioned:              new(true),
		EagerlyScrub:                 no(), Split: no(), WriteThrough: no(), DigestEnabled: no(),
		Uuid: "6000c29" + id[7:], // the prefix of vSphere's disks
	}
	return disk
}

// nics returns the VM's NICs, and their networks.
func nics(dc *datacenter, h *host, spec *topology.VM, on bool) ([]types.BaseVirtualDevice, []vc.Ref, error) {
	if len(spec.NICs) > maxCards {
		return nil, nil, fmt.Errorf("%d NICs: a VM has room for %d", len(spec.NICs), maxCards)
	}
	var list []types.BaseVirtualDevice
	var refs []vc.Ref
	for i := range spec.NICs {
		n, ok := dc.networks[spec.NICs[i].Network]
		if !ok {
			return nil, nil, fmt.Errorf("network %q: no such network in the datacenter", spec.NICs[i].Network)
		}
		if n.hosts != nil && !n.hosts[h] {
			return nil, nil, fmt.Errorf("network %q: host %q is no member of its switch", spec.NICs[i].Network, h.obj.Name)
		}
		list = append(list, newNIC(i, &spec.NICs[i], n, on))
		refs = append(refs, n.ref)
	}
	return list, refs, nil
}

func newNIC(i int, spec *topology.NIC, n *network, on bool) *types.VirtualVmxnet3 {
	nic := new(types.VirtualVmxnet3)
	nic.Key = int32(cardKey + i)
	nic.ControllerKey = pciKey
	nic.UnitNumber = new(int32(cardUnit + i))
	nic.AddressType = string(types.VirtualEthernetCardMacTypeManual)
	nic.MacAddress = strings.ToLower(spec.MAC)
	nic.WakeOnLanEnabled = new(true)
	nic.Connectable = &types.VirtualDeviceConnectInfo{StartConnected: true, AllowGuestControl: true, Connected: on}
	nic.ResourceAllocation = &types.VirtualEthernetCardResourceAllocation{
		Reservation: types.NewInt64(0),
		Share:       types.SharesInfo{Shares: 50, Level: types.SharesLevelNormal},
		Limit:       types.NewInt64(-1),
	}
	info := &types.Description{Label: fmt.Sprintf("Network adapter %d", i+1), Summary: spec.Network}
	nic.DeviceInfo = info
	if n.switchUUID == "" {
		ref := n.ref
		nic.Backing = &types.VirtualEthernetCardNetworkBackingInfo{
			VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: spec.Network},
			Network:                        &ref,
		}
		return nic
	}
	info.Summary = "DVSwitch: " + n.switchUUID
	nic.Backing = &types.VirtualEthernetCardDistributedVirtualPortBackingInfo{
		Port: types.DistributedVirtualSwitchPortConnection{SwitchUuid: n.switchUUID, PortgroupKey: n.ref.Value},
	}
	return nic
}

// format sets type and size of the datastore's volume; vcsim adds a tebibyte with every mount.
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

// fileSystem returns vSphere's name of the type.
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

// volumeName returns the name of the volume below /vmfs/volumes on a host, derived from a UUID in the form of the type: two
// groups of 16 digits after "vsan:" or "vvol:", two of 8 for NFS.
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
