package store

import (
	"fmt"
	"path"
	"path/filepath"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// localPath reads the path of a file on a datastore, which must stay there.
func localPath(text string) (object.DatastorePath, error) {
	var p object.DatastorePath
	if !p.FromString(text) {
		return p, fmt.Errorf("file %q is no datastore path", text)
	}
	if p.Path != "" && !filepath.IsLocal(filepath.FromSlash(p.Path)) {
		return p, fmt.Errorf("file %q is outside of its datastore", text)
	}
	return p, nil
}

// home is the path of the VM's .vmx.
func home(vm *mo.VirtualMachine) (object.DatastorePath, error) {
	return localPath(vm.Config.Files.VmPathName)
}

// disk is a disk with a file of its own.
type disk struct {
	key      int32
	file     string
	capacity int64
}

func disks(vm *mo.VirtualMachine) []disk {
	var all []disk
	for _, d := range vm.Config.Hardware.Device {
		v, ok := d.(*types.VirtualDisk)
		if !ok {
			continue
		}
		b, ok := v.Backing.(types.BaseVirtualDeviceFileBackingInfo)
		if !ok {
			continue
		}
		capacity := v.CapacityInBytes
		if capacity == 0 {
			capacity = v.CapacityInKB << 10
		}
		if name := b.GetVirtualDeviceFileBackingInfo().FileName; name != "" {
			all = append(all, disk{v.Key, name, capacity})
		}
	}
	return all
}

// firstClass counts the first class disks that are attached to the VM.
func firstClass(vm *mo.VirtualMachine) (n int) {
	for _, d := range vm.Config.Hardware.Device {
		if v, ok := d.(*types.VirtualDisk); ok && v.VDiskId != nil {
			n++
		}
	}
	return n
}

// dirOf is the directory of a file in a datastore.
func dirOf(p object.DatastorePath) string { return path.Dir(p.Path) }
