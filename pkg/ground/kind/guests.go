package kind

import (
	"context"

	kindmachine "github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/machine"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
)

// guests is [cns.Guests] for the containers of one vCenter's VMs.
type guests struct {
	g       *Ground
	vcenter string
}

// of is the container of a VM; nil for none.
func (g guests) of(vm ref) *kindmachine.Machine {
	found, _ := g.g.Host.Guest(g.vcenter, vm).(*kindmachine.Machine)
	return found
}

// with does something with the container of a VM, if it has one.
func (g guests) with(vm ref, d cns.GuestDisk, f func(*kindmachine.Machine, node.Disk) error) error {
	m := g.of(vm)
	if m == nil {
		return nil
	}
	return f(m, node.Disk{UUID: d.UUID, VolumeID: d.Volume, Bytes: d.Bytes})
}

func (g guests) Plug(ctx context.Context, vm ref, d cns.GuestDisk) error {
	return g.with(vm, d, func(m *kindmachine.Machine, d node.Disk) error { return m.Attach(ctx, d) })
}

func (g guests) Unplug(ctx context.Context, vm ref, d cns.GuestDisk) error {
	return g.with(vm, d, func(m *kindmachine.Machine, d node.Disk) error { return m.Detach(ctx, d) })
}

func (g guests) Resize(ctx context.Context, vm ref, d cns.GuestDisk) error {
	return g.with(vm, d, func(m *kindmachine.Machine, d node.Disk) error { return m.Resize(ctx, d) })
}

func (g guests) Flush(ctx context.Context, vm ref, d cns.GuestDisk) error {
	return g.with(vm, d, func(m *kindmachine.Machine, d node.Disk) error { return m.Flush(ctx, d) })
}
