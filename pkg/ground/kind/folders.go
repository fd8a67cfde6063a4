package kind

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/machine/disks"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

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
