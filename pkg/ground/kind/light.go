package kind

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Light implements [ground.Ground].
func (*Ground) Light(vm *topology.VM) bool { return isLight(vm) }

// Nodes implements [ground.Ground].
func (*Ground) Nodes(t *topology.Topology) string {
	return ground.KindOfNodes(t, isLight, api.NodesContainer)
}

// isLight tells whether a VM's node is a light one on kind: not one of the control plane, where pods have to run that
// everybody needs.
func isLight(v *topology.VM) bool { return v.IsLight() && v.Role != topology.RoleControlPlane }

// light is what stands for a VM whose node is a light one. There is no machine, and yet kind's network makes routes to the
// pods of every Node by way of the Node's address, and ends where that is not in a network of the containers: the guest has
// one of that network, which no container gets, whatever it was given while the VM was off. A real guest keeps its own, to
// which every container has a way.
func (g *Ground) light(n ground.Node) node.Guest {
	// Pods run on the other nodes only.
	args := []string{"--label=" + feed.Mark + "=", "--taint=" + feed.Mark + ":NoSchedule"}
	return n.LightGuest(ground.LightOptions{Args: args, First: func() error {
		if g.RealVMs {
			return nil
		}
		vm := n.Current()
		address, err := g.far.of(vmKey{vm.VCenter, vm.Ref}, func(k vmKey) bool { return g.Host.Exists(k.vcenter, k.ref) })
		if err != nil {
			return err
		}
		g.report(vm, netip.PrefixFrom(address, lightBits))
		return nil
	}})
}

// lightBits is how long the network part of a light node's address is said to be: the next one in it is no container's.
const lightBits = 24

// vmKey identifies a VM: a moref is unique within its vCenter only.
type vmKey struct {
	vcenter string
	ref     ref
}

type ref = types.ManagedObjectReference

// findNetwork looks up the range of the containers' addresses, once there is one.
func (g *Ground) findNetwork(ctx context.Context) error {
	subnet, err := g.subnet(ctx)
	g.far.subnet = subnet
	return err
}

func (g *Ground) subnet(ctx context.Context) (netip.Prefix, error) {
	name := kind.Network(g.rt)
	n, there, err := g.rt.Network(ctx, name)
	if err != nil {
		return netip.Prefix{}, err
	}
	i := slices.IndexFunc(n.Subnets, func(p netip.Prefix) bool { return p.Addr().Is4() })
	if !there || i < 0 {
		return netip.Prefix{}, fmt.Errorf("network %q of the containers: has no range of IPv4 addresses", name)
	}
	return n.Subnets[i].Masked(), nil
}
