package truth

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// moveFiles moves the directory of the VM, whose lock is held, to another datastore and rewrites every path into it.
// Without that a VM in another datacenter would point to a datastore that does not exist there, on which vcsim panics
// when the VM is destroyed. Disks that lie outside of the directory stay where they are.
func moveFiles(ctx *simulator.Context, vm *simulator.VirtualMachine, to *simulator.Datastore) types.BaseMethodFault {
	var home object.DatastorePath
	if !home.FromString(vm.Config.Files.VmPathName) {
		return &types.InvalidDatastorePath{DatastorePath: vm.Config.Files.VmPathName}
	}
	from, ok := datastoreNamed(ctx, vm, home.Datastore)
	if !ok {
		return &types.InvalidDatastorePath{DatastorePath: vm.Config.Files.VmPathName}
	}
	if from == to {
		return nil
	}
	oldDir := path.Dir(home.Path)
	newDir, err := moveDir(from.Summary.Url, to.Summary.Url, oldDir)
	if err != nil {
		return &types.FileFault{File: vm.Config.Files.VmPathName}
	}
	was := (&object.DatastorePath{Datastore: from.Name, Path: oldDir}).String()
	is := (&object.DatastorePath{Datastore: to.Name, Path: newDir}).String()
	rewrite := func(s string) string {
		if s == was || strings.HasPrefix(s, was+"/") {
			return is + s[len(was):]
		}
		return s
	}

	others := false // files on the old datastore that stay there
	devices := copyDevices(vm.Config.Hardware.Device)
	for _, d := range devices {
		backing, ok := d.GetVirtualDevice().Backing.(types.BaseVirtualDeviceFileBackingInfo)
		if !ok {
			continue
		}
		file := backing.GetVirtualDeviceFileBackingInfo()
		if moved := rewrite(file.FileName); moved != file.FileName {
			file.FileName = moved
			if file.Datastore != nil {
				file.Datastore = &to.Self
			}
		} else if file.Datastore != nil && *file.Datastore == from.Self {
			others = true
		}
	}
	files := vm.Config.Files
	for _, s := range []*string{&files.VmPathName, &files.SnapshotDirectory, &files.SuspendDirectory, &files.LogDirectory} {
		*s = rewrite(*s)
	}
	layout := *vm.LayoutEx
	layout.File = slices.Clone(layout.File)
	for i := range layout.File {
		layout.File[i].Name = rewrite(layout.File[i].Name)
	}

	datastores := append(without(slices.Clone(vm.Datastore), to.Self), to.Self)
	if !others {
		datastores = without(datastores, from.Self)
		relist(ctx, vm.Self, from.Self, to.Self)
	} else {
		relist(ctx, vm.Self, vc.Ref{}, to.Self)
	}
	ctx.Update(vm, []types.PropertyChange{
		vc.P("config.hardware.device", devices),
		vc.P("config.files", files),
		vc.P("summary.config.vmPathName", files.VmPathName),
		vc.P("layoutEx", layout),
		vc.P("datastore", datastores),
	})
	return nil
}

// datastoreNamed finds one of the VM's datastores by name.
func datastoreNamed(ctx *simulator.Context, vm *simulator.VirtualMachine, name string) (*simulator.Datastore, bool) {
	for _, ref := range vm.Datastore {
		if ds, ok := ctx.Map.Get(ref).(*simulator.Datastore); ok && ds.Name == name {
			return ds, true
		}
	}
	return nil, false
}

// moveDir moves a directory between two roots, to a name that is free there ("vm", "vm_1" …).
func moveDir(from, to, dir string) (string, error) {
	name := dir
	for i := 1; ; i++ {
		_, err := os.Lstat(filepath.Join(to, name))
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return "", err
		}
		name = fmt.Sprintf("%s_%d", dir, i)
	}
	return name, os.Rename(filepath.Join(from, dir), filepath.Join(to, name))
}
