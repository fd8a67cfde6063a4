package kind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	kindmachine "github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/machine"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
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
		return &nobody{name: name, notify: n.Notify, host: g.Host}
	}
	options := kindmachine.Options{
		Name: name, Container: container, Runtime: g.rt, Network: kind.Network(g.rt), Watch: g.watch, Notify: n.Notify,
		Notice: func(err error) { g.notice(name, err) }, Logger: g.Logger,
		Identify:  func(vm node.Machine) error { return g.cluster.Identify(name, strings.ToLower(vm.UUID)) },
		Addressed: func(a netip.Addr) { g.addressed(vm, a) }, Keep: g.kept,
	}
	if d := g.disks[vm.VCenter]; d != nil {
		options.Disks, options.ByID = d, g.cluster.ByID(name)
	}
	m, err := kindmachine.New(options)
	if err != nil { // of options that there cannot be
		g.Logger.Error("machine", "node", name, "err", err)
		return &nobody{name: name, notify: n.Notify, host: g.Host}
	}
	return m
}

// nodeOf is what the node of a VM is called: as kind was told, if it was, whatever the guest says.
func (g *Ground) nodeOf(vm world.VM) string {
	if name, ok := g.byUUID[strings.ToLower(vm.UUID)]; ok {
		return name
	}
	return strings.ToLower(cmp.Or(vm.Hostname, vm.Name))
}

// notice writes down what could not be done to a container, or what somebody else has done to it.
func (g *Ground) notice(name string, err error) {
	g.Log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: event.Warning, Kind: "node.container", Object: event.Object{Kind: "Node", Name: name}, Message: err.Error(),
	})
}

// nobody stands for a VM for which there is no container: kind makes nodes when it makes the cluster, and none later.
type nobody struct {
	name   string
	notify func(child.Change)
	host   Host

	mu   sync.Mutex
	told bool
}

var errNobody = errors.New("there is no container for it: kind makes nodes with the cluster, and none later")

// Observe says once, of a VM that should run, that nothing will.
func (n *nobody) Observe(m node.Machine) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.told || !m.Exists || m.Power != node.On {
		return
	}
	n.told = true
	n.host.Go(watchGroup, func(context.Context) { // the caller holds the lock of the nodes
		n.notify(child.Change{Name: "node/" + n.name, State: child.Exited, Err: errNobody})
	})
}

func (*nobody) State() (p node.Process, pid, restarts int) { return node.Stopped, 0, 0 }
func (*nobody) Stop(context.Context) error                 { return nil }
func (*nobody) Hang() bool                                 { return false }
func (*nobody) Unhang()                                    {}
func (*nobody) Die()                                       {}
func (*nobody) WithholdLinks(bool)                         {}

func (n *nobody) Crash(context.Context) error { return fmt.Errorf("node %q: %w", n.name, errNobody) }

func (n *nobody) Restart(context.Context) error { return fmt.Errorf("node %q: %w", n.name, errNobody) }
