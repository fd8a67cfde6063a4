package sandbox

import (
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
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
)

// guest is the container of a VM's node, or what stands for a light one; of a VM that kind was told nothing of, nothing.
func (k *kindCluster) guest(m *machine) node.Guest {
	if k.s.light.has(m.vm) {
		return k.light(m)
	}
	name := k.nodeOf(m)
	component, _ := k.s.nodes.claimed(m, name)
	notify := func(c child.Change) { k.s.nodes.notify(m, c) }
	container := k.cluster.Container(name)
	if container == "" || component != "node/"+name { // a clone, say: the container is its first VM's
		return &nobody{name: name, notify: notify}
	}
	options := kindmachine.Options{
		Name: name, Container: container, Runtime: k.rt, Network: kind.Network(k.rt), Watch: k.watch, Notify: notify,
		Notice: func(err error) { k.notice(name, err) }, Logger: k.s.opts.Logger,
		Identify:  func(vm node.Machine) error { return k.cluster.Identify(name, strings.ToLower(vm.UUID)) },
		Addressed: func(a netip.Addr) { k.addressed(m, a) }, Keep: k.kept,
	}
	if d := k.disks[m.vm.VCenter]; d != nil {
		options.Disks, options.ByID = d, k.cluster.ByID(name)
	}
	g, err := kindmachine.New(options)
	if err != nil { // of options that there cannot be
		k.s.opts.Logger.Error("machine", "node", name, "err", err)
		return &nobody{name: name, notify: notify}
	}
	return g
}

// nodeOf is what the node of a VM is called: as kind was told, if it was, whatever the guest says.
func (k *kindCluster) nodeOf(m *machine) string {
	if name, ok := k.byUUID[strings.ToLower(m.vm.UUID)]; ok {
		return name
	}
	if m.vm.Hostname != "" {
		return strings.ToLower(m.vm.Hostname)
	}
	return strings.ToLower(m.vm.Name)
}

// notice writes down what could not be done to a container, or what somebody else has done to it.
func (k *kindCluster) notice(name string, err error) {
	k.s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: event.Warning, Kind: "node.container", Object: event.Object{Kind: "Node", Name: name}, Message: err.Error(),
	})
}

// nobody stands for a VM for which there is no container: kind makes nodes when it makes the cluster, and none later.
type nobody struct {
	name   string
	notify func(child.Change)

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
	go n.notify(child.Change{Name: "node/" + n.name, State: child.Exited, Err: errNobody})
}

func (*nobody) State() (p node.Process, pid, restarts int) { return node.Stopped, 0, 0 }
func (*nobody) Stop(context.Context) error                 { return nil }
func (*nobody) Hang() bool                                 { return false }
func (*nobody) Unhang()                                    {}
func (*nobody) Die()                                       {}
func (*nobody) WithholdLinks(bool)                         {}

func (n *nobody) Crash(context.Context) error { return fmt.Errorf("node %q: %w", n.name, errNobody) }

func (n *nobody) Restart(context.Context) error { return fmt.Errorf("node %q: %w", n.name, errNobody) }
