package sandbox

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// lightOnKind tells whether a VM's node is a light one on kind: not one of the control plane, where pods have to run that
// everybody needs.
func lightOnKind(v *topology.VM) bool { return v.IsLight() && v.Role != topology.RoleControlPlane }

// light is what stands for a VM whose node is a light one. There is no machine, and yet kind's network makes routes to the
// pods of every Node by way of the Node's address, and ends where that is not in a network of the containers: the guest has
// one of that network, which no container gets.
func (k *kindCluster) light(m *machine) node.Guest {
	address, err := k.far.next()
	if err != nil {
		k.notice(k.nodeOf(m), err)
	}
	k.addressed(m, address)
	return k.s.light.guest(m)
}

// findNetwork looks up the range of the containers' addresses, once there is one.
func (k *kindCluster) findNetwork(ctx context.Context) error {
	name := kind.Network(k.rt)
	n, there, err := k.rt.Network(ctx, name)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(n.Subnets, func(p netip.Prefix) bool { return p.Addr().Is4() })
	if !there || i < 0 {
		return fmt.Errorf("network %q of the containers: has no range of IPv4 addresses", name)
	}
	k.far = farEnd{subnet: n.Subnets[i].Masked()}
	return nil
}

// farEnd hands out addresses of a network of containers from its end, each once: runtimes hand them out from the beginning. The lock of
// the nodes guards it.
type farEnd struct {
	subnet netip.Prefix
	taken  uint32
}

// next is the next one; an error when half of the range has been handed out, for then a container may get it, too.
func (f *farEnd) next() (netip.Addr, error) {
	half := uint32(1) << (f.subnet.Addr().BitLen() - f.subnet.Bits()) / 2
	if f.taken+2 > half {
		return netip.Addr{}, fmt.Errorf("network %s of the containers: has no address left for another light node, after %d", f.subnet, f.taken)
	}
	f.taken++
	b := f.subnet.Addr().As4()
	last := binary.BigEndian.Uint32(b[:]) + 2*half - 1 // which is everybody's
	binary.BigEndian.PutUint32(b[:], last-f.taken)
	return netip.AddrFrom4(b), nil
}
