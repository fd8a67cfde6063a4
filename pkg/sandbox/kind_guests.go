package sandbox

import (
	"context"

	kindmachine "github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/machine"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
)

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
