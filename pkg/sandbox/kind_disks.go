package sandbox

import (
	"context"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	kindmachine "github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/machine"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/machine/disks"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
)

// volumes are block devices.
func (k *kindCluster) volumes() podVolumes {
	return podVolumes{backend: deploy.BackendDevice, serial: kind.SerialFile}
}

// openDisks has volumes be loop devices of this machine, which containers see.
func (k *kindCluster) openDisks() error {
	if !k.s.opts.CSI.Enabled {
		return nil
	}
	k.disks = map[string]*disks.Loops{}
	for _, vc := range k.s.opts.Topology.Spec.VCenters {
		d := &disks.Loops{Dir: k.volumeDir(vc.Name), Pulled: k.pulled}
		if err := d.Possible(k.s.opts.Dir.Path()); err != nil {
			return fmt.Errorf("volumes: %w", err)
		}
		k.disks[vc.Name] = d
	}
	return nil
}

// volumeDir tells what directory stands for the disk of a vCenter's volume, whether that is there or not. The vCenter itself
// is built later.
func (k *kindCluster) volumeDir(vcenter string) func(id string) string {
	return func(id string) string {
		if vc := k.s.watchedVCenter(vcenter); vc != nil {
			return k.s.volumeDir(vc)(id)
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
	return kindGuests{k, vcenter}
}

// kindGuests is [cns.Guests] for the containers of one vCenter's VMs.
type kindGuests struct {
	k       *kindCluster
	vcenter string
}

// of is the container of a VM; nil for none.
func (g kindGuests) of(vm ref) *kindmachine.Machine {
	n := g.k.s.nodes
	n.mu.Lock()
	defer n.mu.Unlock()
	if m := n.vms[vmKey{g.vcenter, vm}]; m != nil {
		found, _ := m.node.(*kindmachine.Machine)
		return found
	}
	return nil
}

// with does something with the container of a VM, if it has one.
func (g kindGuests) with(vm ref, d cns.GuestDisk, f func(*kindmachine.Machine, node.Disk) error) error {
	m := g.of(vm)
	if m == nil {
		return nil
	}
	return f(m, node.Disk{UUID: d.UUID, VolumeID: d.Volume, Bytes: d.Bytes})
}

func (g kindGuests) Plug(ctx context.Context, vm ref, d cns.GuestDisk) error {
	return g.with(vm, d, func(m *kindmachine.Machine, d node.Disk) error { return m.Attach(ctx, d) })
}

func (g kindGuests) Unplug(ctx context.Context, vm ref, d cns.GuestDisk) error {
	return g.with(vm, d, func(m *kindmachine.Machine, d node.Disk) error { return m.Detach(ctx, d) })
}

func (g kindGuests) Resize(ctx context.Context, vm ref, d cns.GuestDisk) error {
	return g.with(vm, d, func(m *kindmachine.Machine, d node.Disk) error { return m.Resize(ctx, d) })
}

func (g kindGuests) Flush(ctx context.Context, vm ref, d cns.GuestDisk) error {
	return g.with(vm, d, func(m *kindmachine.Machine, d node.Disk) error { return m.Flush(ctx, d) })
}
