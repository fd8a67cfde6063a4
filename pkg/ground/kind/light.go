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

// isLight reports whether a VM's node is light on kind. A control-plane node is not: pods must run there that
// the whole cluster needs.
func isLight(v *topology.VM) bool { return v.IsLight() && v.Role != topology.RoleControlPlane }

// light returns the guest of a VM whose node is light. It has no container, and yet kind's network makes routes to the
// pods of every Node by the Node's address, and fails if that is not in a network of the containers. So the guest has
// an address of that network that no container gets, also if it was given another one while the VM was off. A real guest
// keeps its own address, which every container reaches.
func (g *Ground) light(n ground.Node) node.Guest {
	// Pods run on the other nodes only.
	args := []string{"--label=" + feed.LightKey + "=", "--taint=" + feed.LightKey + ":NoSchedule"}
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
