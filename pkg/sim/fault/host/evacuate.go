package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/internal/vsphere"
)

// places are the other hosts of a cluster, with how many VMs each has.
type places []*place

type place struct {
	host mo.HostSystem
	vms  int
}

// otherHosts lists the hosts of the host's cluster that can take VMs.
func otherHosts(ctx context.Context, ep *fault.Endpoint, h mo.HostSystem) (places, error) {
	if h.Parent == nil || h.Parent.Type != "ClusterComputeResource" {
		return nil, nil
	}
	var cluster mo.ClusterComputeResource
	if err := vsphere.Get(ctx, ep, *h.Parent, &cluster, "host"); err != nil {
		return nil, err
	}
	var hosts []mo.HostSystem
	if err := vsphere.GetAll(ctx, ep, cluster.Host, &hosts, "name", "runtime", "datastore", "vm"); err != nil {
		return nil, err
	}
	var all places
	for _, other := range hosts {
		r := other.Runtime
		if other.Self != h.Self && r.ConnectionState == types.HostSystemConnectionStateConnected && !r.InMaintenanceMode {
			all = append(all, &place{host: other, vms: len(other.Vm)})
		}
	}
	return all, nil
}

// take finds the host with the fewest VMs that has the datastores of the VM, and counts the VM there.
func (p places) take(vm mo.VirtualMachine) (vsphere.Ref, bool) {
	var best *place
	for _, one := range p {
		lacks := slices.ContainsFunc(vm.Datastore, func(d vsphere.Ref) bool { return !slices.Contains(one.host.Datastore, d) })
		if !lacks && (best == nil || one.vms < best.vms) {
			best = one
		}
	}
	if best == nil {
		return vsphere.Ref{}, false
	}
	best.vms++
	return best.host.Self, true
}

// leave moves the VMs that are on away from the host.
func leave(ctx context.Context, ep *fault.Endpoint, ref vsphere.Ref) error {
	h, on, err := look(ctx, ep, ref)
	if err != nil {
		return err
	}
	others, err := otherHosts(ctx, ep, h)
	if err != nil {
		return err
	}
	for _, vm := range on {
		to, ok := others.take(vm)
		if !ok {
			return fmt.Errorf("vm %q: no other host can take it", vm.Name)
		}
		if err := move(ctx, ep, vm.Self, to); err != nil && !vsphere.Gone(err) {
			return fmt.Errorf("vm %q: move away: %w", vm.Name, err)
		}
	}
	return nil
}
