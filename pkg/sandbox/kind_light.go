package sandbox

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// lightOnKind tells whether a VM's node is a light one on kind: not one of the control plane, where pods have to run that
// everybody needs.
func lightOnKind(v *topology.VM) bool { return v.IsLight() && v.Role != topology.RoleControlPlane }

// light is what stands for a VM whose node is a light one. There is no machine, and yet kind's network makes routes to the
// pods of every Node by way of the Node's address, and ends where that is not in a network of the containers: the guest has
// one of that network, which no container gets, whatever it was given while the VM was off. A real guest keeps its own, to
// which every container has a way.
func (k *kindCluster) light(m *machine) node.Guest {
	return k.s.light.booting(m, func() error {
		if k.s.opts.Real != nil {
			return nil
		}
		vm := k.s.nodes.is(m)
		address, err := k.far.of(vmKey{vm.VCenter, vm.Ref}, k.s.nodes.has)
		if err != nil {
			return err
		}
		k.report(vm, netip.PrefixFrom(address, lightBits))
		return nil
	})
}

// lightBits is how long the network part of a light node's address is said to be: the next one in it is no container's.
const lightBits = 24

// is is the VM of a machine as it was seen last, has tells whether one is still there.
func (n *nodes) is(m *machine) world.VM {
	n.mu.Lock()
	defer n.mu.Unlock()
	return m.vm
}

func (n *nodes) has(key vmKey) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.vms[key] != nil
}

// findNetwork looks up the range of the containers' addresses, once there is one.
func (k *kindCluster) findNetwork(ctx context.Context) error {
	subnet, err := k.subnet(ctx)
	k.far.subnet = subnet
	return err
}

func (k *kindCluster) subnet(ctx context.Context) (netip.Prefix, error) {
	name := kind.Network(k.rt)
	n, there, err := k.rt.Network(ctx, name)
	if err != nil {
		return netip.Prefix{}, err
	}
	i := slices.IndexFunc(n.Subnets, func(p netip.Prefix) bool { return p.Addr().Is4() })
	if !there || i < 0 {
		return netip.Prefix{}, fmt.Errorf("network %q of the containers: has no range of IPv4 addresses", name)
	}
	return n.Subnets[i].Masked(), nil
}
