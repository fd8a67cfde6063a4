package inventory

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// lay writes what the VM says of its files, the same as RefreshStorageInfo finds in the directory.
func lay(vm *mo.VirtualMachine, ds vc.Ref, at object.DatastorePath, files vmFiles, now time.Time) {
	idle, own := files.names()
	names := slices.Sorted(slices.Values(append(idle, own...)))
	vm.Layout = &types.VirtualMachineFileLayout{}
	vm.LayoutEx = &types.VirtualMachineFileLayoutEx{Timestamp: now}
	var extent, descriptor int32
	var committed, unshared int64
	for i, name := range names {
		key := int32(i)
		file := path.Join(at.Path, name)
		info := types.VirtualMachineFileLayoutExFileInfo{
			Key: key, Name: (&object.DatastorePath{Datastore: at.Datastore, Path: file}).String(), Accessible: new(true),
		}
		kind := types.VirtualMachineFileLayoutExFileTypeConfig
		switch {
		case strings.HasSuffix(name, "-flat.vmdk"):
			kind, extent = types.VirtualMachineFileLayoutExFileTypeDiskExtent, key
		case strings.HasSuffix(name, ".vmdk"):
			kind, descriptor = types.VirtualMachineFileLayoutExFileTypeDiskDescriptor, key
			info.Size = int64(len(files.descriptor))
			unshared += info.Size
		case strings.HasSuffix(name, ".nvram"):
			kind = types.VirtualMachineFileLayoutExFileTypeNvram
			vm.Layout.ConfigFile = append(vm.Layout.ConfigFile, file)
		case strings.HasSuffix(name, ".log"):
			kind = types.VirtualMachineFileLayoutExFileTypeLog
			vm.Layout.LogFile = append(vm.Layout.LogFile, file)
		}
		info.Type = string(kind)
		info.UniqueSize = info.Size
		committed += info.Size
		vm.LayoutEx.File = append(vm.LayoutEx.File, info)
	}
	vm.Layout.Disk = []types.VirtualMachineFileLayoutDiskLayout{{Key: diskKey, DiskFile: []string{vm.LayoutEx.File[descriptor].Name}}}
	vm.LayoutEx.Disk = []types.VirtualMachineFileLayoutExDiskLayout{{
		Key:   diskKey,
		Chain: []types.VirtualMachineFileLayoutExDiskUnit{{FileKey: []int32{extent, descriptor}}},
	}}
	usage := types.VirtualMachineUsageOnDatastore{
		Datastore: ds, Committed: committed, Unshared: unshared, Uncommitted: systemKiB<<10 - committed,
	}
	vm.Storage = &types.VirtualMachineStorageInfo{PerDatastoreUsage: []types.VirtualMachineUsageOnDatastore{usage}, Timestamp: now}
	vm.Summary.Storage = &types.VirtualMachineStorageSummary{
		Committed: usage.Committed, Unshared: usage.Unshared, Uncommitted: usage.Uncommitted, Timestamp: now,
	}
}
