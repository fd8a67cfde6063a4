package kind

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	kindguest "github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/guest/disks"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
)

// PodVolumes implements [ground.Volumes]: they are block devices, or directories.
func (g *Ground) PodVolumes() ground.PodVolumes {
	if g.folders != "" {
		return ground.PodVolumes{Backend: deploy.BackendDir, Dir: g.folders, Serial: kind.SerialFile}
	}
	return ground.PodVolumes{Backend: deploy.BackendDevice, Dir: g.shared(), Serial: kind.SerialFile}
}

// shared is the directory that all nodes mount: of volumes that are directories, and of the shares of a file service; "" for none.
func (g *Ground) shared() string {
	if g.CSI && g.Topology.FileService() {
		return foldersOf(g.Dir)
	}
	return g.folders
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
	g.disks = map[string]kindguest.Disks{}
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

// foldersOf is the directory of a sandbox in which all volumes are that are directories.
func foldersOf(dir string) string { return sim.VolumesDir(sim.StateDir(dir)) }

// Path implements [ground.Volumes]: it is where the files of a volume are that a pod uses: in the directory that the pod has bind mounted.
func (g *Ground) Path(v api.Volume) (api.Path, error) {
	if g.folders == "" {
		return api.Path{}, &api.Error{
			Code: "conflict", Message: fmt.Sprintf("volume %q: is a block device, whose files only node %s sees", v.Name, v.Node),
			Try: "vsphere-sandbox kubectl exec, in its pod\nor a sandbox with --kind-volumes dir, where it is a directory of this machine",
		}
	}
	dir, ok := g.Host.VolumeDir(v.VCenter, v.Handle)
	if !ok {
		return api.Path{}, &api.Error{Code: "conflict", Message: fmt.Sprintf("volume %q: is in no vCenter", v.Name)}
	}
	d, err := disk.Open(dir)
	if err != nil {
		return api.Path{}, &api.Error{Code: "conflict", Message: fmt.Sprintf("volume %q: %v", v.Name, err)}
	}
	return api.Path{Volume: v.Name, Node: v.Node, Path: d.Data()}, nil
}

// RemoveVolumes removes the volumes that are directories of the sandbox of that directory, whose containers are gone. In
// them are files of pods' users, root as a rule, which a user who may use the container runtime could not remove otherwise: a
// container of the node image does it then. Where there is nothing of the kind nothing is done.
func RemoveVolumes(ctx context.Context, dir string) error {
	n, err := readNote(dir)
	if err != nil || n.Image == "" {
		return err
	}
	folders := foldersOf(dir)
	links := &disks.Links{AsRoot: asRoot(kind.AsRoot(n.runtime(), n.Image, filepath.Base(dir)))}
	if err := links.Remove(ctx, folders); err != nil {
		return fmt.Errorf("volumes: pods have left files of root's in %s: %w", folders, err)
	}
	return nil
}

// guests is [cns.Guests] for the containers of one vCenter's VMs.
type guests struct {
	g       *Ground
	vcenter string
}

// of is the container of a VM; nil for none.
func (g guests) of(vm ref) *kindguest.Guest {
	found, _ := g.g.Host.Guest(g.vcenter, vm).(*kindguest.Guest)
	return found
}

// with does something with the container of a VM, if it has one.
func (g guests) with(vm ref, d cns.GuestDisk, f func(*kindguest.Guest, node.Disk) error) error {
	m := g.of(vm)
	if m == nil {
		return nil
	}
	return f(m, node.Disk{UUID: d.UUID, VolumeID: d.Volume, Bytes: d.Bytes})
}

func (g guests) Plug(ctx context.Context, vm ref, d cns.GuestDisk) error {
	return g.with(vm, d, func(m *kindguest.Guest, d node.Disk) error { return m.Attach(ctx, d) })
}

func (g guests) Unplug(ctx context.Context, vm ref, d cns.GuestDisk) error {
	return g.with(vm, d, func(m *kindguest.Guest, d node.Disk) error { return m.Detach(ctx, d) })
}

func (g guests) Resize(ctx context.Context, vm ref, d cns.GuestDisk) error {
	return g.with(vm, d, func(m *kindguest.Guest, d node.Disk) error { return m.Resize(ctx, d) })
}

func (g guests) Flush(ctx context.Context, vm ref, d cns.GuestDisk) error {
	return g.with(vm, d, func(m *kindguest.Guest, d node.Disk) error { return m.Flush(ctx, d) })
}
