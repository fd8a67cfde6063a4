package kind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	kindguest "github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/guest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node/light/feed"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Guest implements [ground.Ground]: the container of a VM's node, or what stands for a light one. A VM that kind was not given
// has none.
func (g *Ground) Guest(n ground.Node) node.Guest {
	if n.IsLight() {
		return g.light(n)
	}
	vm := n.VM()
	name := g.nodeOf(vm)
	container := g.cluster.Container(name)
	if component := n.Claim(name); container == "" || component != "node/"+name { // a clone, say: the container is its first VM's
		return &noContainer{name: name, notify: n.Notify, host: g.Host}
	}
	options := kindguest.Options{
		Name: name, Container: container, Runtime: g.rt, Network: kind.Network(g.rt), Watch: g.watch, Notify: n.Notify,
		Notice: func(err error) { g.notice(name, err) }, Logger: g.Logger,
		Identify:  func(vm node.VM) error { return g.cluster.Identify(name, strings.ToLower(vm.UUID)) },
		OnAddress: func(a netip.Addr) { g.addressed(vm, a) }, Keep: g.kept,
	}
	if d := g.disks[vm.VCenter]; d != nil {
		options.Disks, options.ByID = d, g.cluster.ByID(name)
	}
	m, err := kindguest.New(options)
	if err != nil { // of options that there cannot be
		g.Logger.Error("machine", "node", name, "err", err)
		return &noContainer{name: name, notify: n.Notify, host: g.Host}
	}
	return m
}

// nodeOf returns the name of a VM's node: the one given to kind, or else the guest's hostname.
func (g *Ground) nodeOf(vm world.VM) string {
	if name, ok := g.byUUID[strings.ToLower(vm.UUID)]; ok {
		return name
	}
	return strings.ToLower(cmp.Or(vm.Hostname, vm.Name))
}

// notice logs a failed operation on a container, or a change of it by another process.
func (g *Ground) notice(name string, err error) {
	g.Log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: event.Warning, Kind: "node.container", Object: event.Object{Kind: "Node", Name: name}, Message: err.Error(),
	})
}

// noContainer is the guest of a VM without a container: kind creates nodes only with the cluster.
type noContainer struct {
	name   string
	notify func(child.Change)
	host   Host

	mu       sync.Mutex
	reported bool
}

var errNoContainer = errors.New("there is no container for it: kind makes nodes with the cluster, and none later")

// Observe says once, of a VM that should run, that nothing will.
func (n *noContainer) Observe(m node.VM) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.reported || !m.Exists || m.Power != node.On {
		return
	}
	n.reported = true
	n.host.Go(watchGroup, func(context.Context) { // the caller holds the lock of the nodes
		n.notify(child.Change{Name: "node/" + n.name, State: child.Exited, Err: errNoContainer})
	})
}

func (*noContainer) State() (p node.Process, pid, restarts int) { return node.Stopped, 0, 0 }
func (*noContainer) Stop(context.Context) error                 { return nil }
func (*noContainer) Hang() bool                                 { return false }
func (*noContainer) Unhang()                                    {}
func (*noContainer) Die()                                       {}
func (*noContainer) WithholdLinks(bool)                         {}

func (n *noContainer) Crash(context.Context) error {
	return fmt.Errorf("node %q: %w", n.name, errNoContainer)
}

func (n *noContainer) Restart(context.Context) error {
	return fmt.Errorf("node %q: %w", n.name, errNoContainer)
}

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
