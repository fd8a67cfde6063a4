package sandbox

import (
	"context"
	"os"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	kindmachine "github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/machine"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/machine/disks"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
)

// volumes are block devices, or directories.
func (k *kindCluster) volumes() podVolumes {
	if k.folders != "" {
		return podVolumes{backend: deploy.BackendDir, dir: k.folders, serial: kind.SerialFile}
	}
	return podVolumes{backend: deploy.BackendDevice, serial: kind.SerialFile}
}

// chooseDisks decides what volumes are in containers: loop devices of this machine, or, where those are refused or somebody
// wants it, directories, which are then in k.folders. possible tells why there can be no loop devices with files in a folder.
func (k *kindCluster) chooseDisks(possible func(folder string) error) error {
	if !k.s.opts.CSI.Enabled {
		return nil
	}
	why := "as was asked for"
	foreign := k.s.opts.CSI.Foreign != nil // it knows block devices alone
	as := k.s.opts.Cluster.Kind.Volumes
	if foreign && as == KindVolumesDir {
		return &coded.Error{Code: kind.NoLoopDevices, Message: "this CSI driver takes block devices alone", Try: "--kind-volumes auto\nor --csi builtin"}
	}
	if as != KindVolumesDir {
		err := possible(k.s.opts.Dir.Path())
		if err == nil {
			return nil
		}
		if foreign {
			return &coded.Error{Code: kind.NoLoopDevices, Message: "volumes cannot be block devices, and this CSI driver takes no others", Err: err, Try: "--csi builtin\nor --csi off, for none"}
		}
		if as == KindVolumesDevice {
			return &coded.Error{Code: kind.NoLoopDevices, Message: "volumes cannot be block devices", Err: err, Try: "--kind-volumes dir\nor --csi off, for none"}
		}
		why = err.Error()
	}
	k.folders = kindFolders(k.s.opts.Dir.Path())
	k.s.detail("volumes are directories: " + why)
	k.s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: event.Warning, Kind: "volumes.directories", Message: "volumes are directories, not block devices: " + why,
	})
	return nil
}

// openDisks has containers see the disks of their VMs.
func (k *kindCluster) openDisks(image string) {
	if !k.s.opts.CSI.Enabled {
		return
	}
	k.disks = map[string]kindmachine.Disks{}
	for _, vc := range k.s.opts.Topology.Spec.VCenters {
		if k.folders == "" {
			k.disks[vc.Name] = &disks.Loops{Dir: k.volumeDir(vc.Name), Pulled: k.pulled}
			continue
		}
		// The directories are at the same path in containers.
		k.disks[vc.Name] = &disks.Links{Dir: k.volumeDir(vc.Name), AsRoot: asRoot(kind.AsRoot(k.rt, image, k.s.opts.Name))}
	}
}

// asRoot is root where this process is not, or nil.
func asRoot(root disks.AsRoot) disks.AsRoot {
	if os.Geteuid() == 0 {
		return nil
	}
	return root
}

// volumeDir tells what directory stands for the disk of a vCenter's volume, whether that is there or not. The vCenter itself
// is built later.
func (k *kindCluster) volumeDir(vcenter string) func(id string) string {
	return func(id string) string {
		if vc := k.s.vcenters.Find(vcenter); vc != nil {
			return vc.VolumeDir(id)
		}
		return ""
	}
}

// pulled notes that a disk went while its guest had it mounted, as it does on a machine whose guest hangs.
func (k *kindCluster) pulled(d node.Disk) {
	k.s.log.Append(event.Event{
		Plane: event.PlaneVSphere, Level: event.Warning, Kind: "disk.pulled", Object: event.Object{Kind: "Volume", Name: d.VolumeID},
		Message: "the disk was taken off a guest that had it mounted: what that still writes is lost",
	})
}

// guests show the disks of a vCenter's VMs to the containers; nil when they see none.
func (k *kindCluster) guests(vcenter string) cns.Guests {
	if k.disks == nil {
		return nil
	}
	g := kindGuests{k, vcenter}
	if links, ok := k.disks[vcenter].(*disks.Links); ok {
		return kindKeeper{g, links}
	}
	return g
}

// kindKeeper is [cns.Keeper], too: pods write to the directories themselves.
type kindKeeper struct {
	kindGuests
	links *disks.Links
}

var _ cns.Keeper = kindKeeper{}

func (k kindKeeper) Copy(ctx context.Context, from, to string) error {
	return k.links.Copy(ctx, from, to)
}

func (k kindKeeper) Remove(ctx context.Context, dir string) error { return k.links.Remove(ctx, dir) }
