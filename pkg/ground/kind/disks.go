package kind

import (
	"context"
	"os"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	kindmachine "github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/machine"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/machine/disks"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
)

// PodVolumes implements [ground.Volumes]: they are block devices, or directories.
func (g *Ground) PodVolumes() ground.PodVolumes {
	if g.folders != "" {
		return ground.PodVolumes{Backend: deploy.BackendDir, Dir: g.folders, Serial: kind.SerialFile}
	}
	return ground.PodVolumes{Backend: deploy.BackendDevice, Serial: kind.SerialFile}
}

// chooseDisks chooses how containers see volumes: as loop devices of this machine or, if those are refused or the user
// wants it, as directories, which are then in g.folders. possible returns why loop devices cannot have files in a folder.
func (g *Ground) chooseDisks(possible func(folder string) error) error {
	if !g.CSI {
		return nil
	}
	why := "as was asked for"
	foreign := g.Foreign != nil // it knows block devices alone
	as := g.Options.Volumes
	if foreign && as == VolumesDir {
		return &coded.Error{Code: kind.NoLoopDevices, Message: "this CSI driver takes block devices alone", Try: "--kind-volumes auto\nor --csi builtin"}
	}
	if as != VolumesDir {
		err := possible(g.Dir)
		if err == nil {
			return nil
		}
		if foreign {
			return &coded.Error{Code: kind.NoLoopDevices, Message: "volumes cannot be block devices, and this CSI driver takes no others", Err: err, Try: "--csi builtin\nor --csi off, for none"}
		}
		if as == VolumesDevice {
			return &coded.Error{Code: kind.NoLoopDevices, Message: "volumes cannot be block devices", Err: err, Try: "--kind-volumes dir\nor --csi off, for none"}
		}
		why = err.Error()
	}
	g.folders = foldersOf(g.Dir)
	g.Host.Detail("volumes are directories: " + why)
	g.Log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: event.Warning, Kind: "volumes.directories", Message: "volumes are directories, not block devices: " + why,
	})
	return nil
}

// openDisks has containers see the disks of their VMs.
func (g *Ground) openDisks(image string) {
	if !g.CSI {
		return
	}
	g.disks = map[string]kindmachine.Disks{}
	for _, vc := range g.Topology.Spec.VCenters {
		if g.folders == "" {
			g.disks[vc.Name] = &disks.Loops{Dir: g.volumeDir(vc.Name), Pulled: g.pulled}
			continue
		}
		// The directories are at the same path in containers.
		g.disks[vc.Name] = &disks.Links{Dir: g.volumeDir(vc.Name), AsRoot: asRoot(kind.AsRoot(g.rt, image, g.Name))}
	}
}

// asRoot is root where this process is not, or nil.
func asRoot(root disks.AsRoot) disks.AsRoot {
	if os.Geteuid() == 0 {
		return nil
	}
	return root
}

// volumeDir returns the directory of the disk of a vCenter's volume, whether it exists or not. The vCenter itself
// is built later.
func (g *Ground) volumeDir(vcenter string) func(id string) string {
	return func(id string) string {
		dir, _ := g.Host.VolumeDir(vcenter, id)
		return dir
	}
}

// pulled notes that a disk went while its guest had it mounted, as it does on a machine whose guest hangs.
func (g *Ground) pulled(d node.Disk) {
	g.Log.Append(event.Event{
		Plane: event.PlaneVSphere, Level: event.Warning, Kind: "disk.pulled", Object: event.Object{Kind: "Volume", Name: d.VolumeID},
		Message: "the disk was taken off a guest that had it mounted: what that still writes is lost",
	})
}

// Guests implements [ground.Volumes]: they show the disks of a vCenter's VMs to the containers; nil when they see none.
func (g *Ground) Guests(vcenter string) cns.Guests {
	if g.disks == nil {
		return nil
	}
	all := guests{g, vcenter}
	if links, ok := g.disks[vcenter].(*disks.Links); ok {
		return keeper{all, links}
	}
	return all
}

// keeper is [cns.Keeper], too: pods write to the directories themselves.
type keeper struct {
	guests
	links *disks.Links
}

var _ cns.Keeper = keeper{}

func (k keeper) Copy(ctx context.Context, from, to string) error {
	return k.links.Copy(ctx, from, to)
}

func (k keeper) Remove(ctx context.Context, dir string) error { return k.links.Remove(ctx, dir) }
