package sanity

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/device"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/dir"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/folder"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/hollow"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume/volumetest"
)

const (
	gib    = int64(1) << 30
	nodeID = "423a0000-0000-4000-8000-000000000001"
)

// zone is where the node under test is.
func zone() volume.Segment { return volume.Segment{names.TopologyPrefix + "k8s-zone": "us-west"} }

// inMemory is a driver over a vCenter in memory, with one node.
func inMemory(t *testing.T, hooks volumetest.Hooks, b node.Backend) *grpc.ClientConn {
	c := volumetest.New(hooks)
	c.AddDatastore(volume.Datastore{VCenter: "us", Ref: "datastore-1", Name: "ds", URL: "ds:///vmfs/volumes/1/", Capacity: 1000 * gib, Free: 1000 * gib})
	c.AddNode(volume.Node{ID: nodeID, Name: "node-1", VCenter: "us", VM: "vm-1"}, zone(), "datastore-1")
	return serve(t, c, c, node.Options{
		NodeID: nodeID, Backend: b,
		Topology: func(context.Context) (map[string]string, error) { return zone(), nil },
	})
}

// onDir is with volumes that are directories, bound where that is possible.
func onDir(t *testing.T) *grpc.ClientConn {
	b, err := dir.New(dir.Options{Root: t.TempDir(), StateDir: t.TempDir(), Bind: folder.CanBind(), Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	return inMemory(t, volumetest.Hooks{}, b)
}

// onHollow is with disks that are directories, which appear below the VM's by-id folder.
func onHollow(t *testing.T) *grpc.ClientConn {
	byID, disks := t.TempDir(), t.TempDir()
	b, err := hollow.New(hollow.Options{ByIDDir: byID, StateDir: t.TempDir(), Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	at := func(d volumetest.Disk) string { return filepath.Join(disks, d.Volume) }
	link := func(d volumetest.Disk) string { return filepath.Join(byID, names.DeviceLink(d.UUID)) }
	return inMemory(t, volumetest.Hooks{
		Attach: func(d volumetest.Disk) error {
			if err := disk.Create(at(d), d.Capacity); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			return os.Symlink(at(d), link(d))
		},
		Detach: func(d volumetest.Disk) error { return os.Remove(link(d)) },
		Expand: func(d volumetest.Disk) error { return disk.Resize(at(d), d.Capacity) },
		Delete: func(v string) error { return disk.Remove(filepath.Join(disks, v)) },
	}, b)
}

// onDevice is with loop devices as disks. Where there can be none it returns why.
func onDevice(t *testing.T) (conn *grpc.ClientConn, why string) {
	if why := noLoops(); why != "" {
		return nil, why
	}
	byID, disks := t.TempDir(), t.TempDir()
	b, err := device.New(device.Options{ByIDDir: byID, Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	l := loops{disks: disks, byID: byID}
	t.Cleanup(func() { l.clear(t) })
	return inMemory(t, volumetest.Hooks{Attach: l.attach, Detach: l.detach, Expand: l.expand, Delete: l.remove}, b), ""
}

// noLoops says why there are no loop devices to be had here.
func noLoops() string {
	if os.Geteuid() != 0 {
		return "loop devices and mounts need root"
	}
	for _, tool := range []string{"losetup", "blkid", "mkfs.ext4", "mount", "resize2fs"} {
		if _, err := exec.LookPath(tool); err != nil {
			return tool + " is not installed"
		}
	}
	if out, err := exec.Command("losetup", "--find").CombinedOutput(); err != nil {
		return "no loop device: " + strings.TrimSpace(string(out))
	}
	return ""
}
