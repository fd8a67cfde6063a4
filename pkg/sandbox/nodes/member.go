package nodes

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// member is one VM that is a Node. It implements [ground.Node].
type member struct {
	n  *Nodes
	vm world.VM
	// addresses are the last ones of the VM: a guest that does not run reports none, and its Node keeps them.
	addresses []string
	guest     node.Guest // nil before the nodes are started
	// component is the name of the guest's process; "" before its first boot.
	component string
}

var _ ground.Node = (*member)(nil)

func (m *member) VM() world.VM { return m.vm }

func (m *member) Current() world.VM {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	return m.vm
}

func (m *member) IsLight() bool { return m.n.light.has(m.vm) }

// Dir has the name of the VM, not of the Node: a guest may report any hostname.
func (m *member) Dir() string { return m.n.Dir.Path("nodes", m.vm.VCenter+"."+m.vm.Ref.Value) }

// Proxy has the name of the VM, too, so that what is left of one Node does not get the connections of another with that name.
func (m *member) Proxy() string { return "node/" + filepath.Base(m.Dir()) }

func (m *member) Claim(name string) (component string) {
	component, _ = m.claim(name)
	return component
}

func (m *member) Boot(name string) (component string, role topology.Role) {
	m.n.mu.Lock()
	defer m.n.mu.Unlock()
	return m.claim(name)
}

// claim gives the VM the name of a Node, unless another VM has it. The caller holds the lock.
func (m *member) claim(name string) (component string, role topology.Role) {
	role = topology.Role(m.n.Role(m.vm))
	m.component = "node/" + name
	if m.n.taken(m, name) {
		m.component += "@" + m.vm.VCenter + "." + m.vm.Ref.Value
	} else {
		m.n.bound[name] = Bound{m.vm.Key(), m.vm.Name, role}
	}
	return m.component, role
}

func (m *member) LightGuest(o ground.LightOptions) node.Guest { return m.n.light.guest(m, o) }

// Notify records a change of the guest's process. Its cause is the last change of the VM.
func (m *member) Notify(c child.Change) {
	vm := m.Current()
	if c.Name == "" {
		c.Name = "node/" + strings.ToLower(vm.Name)
	}
	m.n.Components.Note(c, object(vm, c.Name), m.cause(vm, c))
}

// notifyLight records a change of a light node's kubelet in the log only: there may be thousands, too many for components.
func (m *member) notifyLight(c child.Change) {
	m.n.mu.Lock()
	vm, component := m.vm, m.component
	m.n.mu.Unlock()
	if component == "" {
		component = "node/" + strings.ToLower(vm.Name)
	}
	e := event.Event{Plane: event.PlaneSandbox, Object: object(vm, component)}
	switch c.State {
	case child.Started:
		e.Kind, e.Message = "child.started", component+": started, a light node"
	case child.Stopped:
		e.Kind, e.Message = "child.stopped", component+": stopped"
	case child.Exited:
		e.Level, e.Kind, e.Message = event.Error, "child.exited", fmt.Sprintf("%s: %v", component, c.Err)
	default:
		return
	}
	e.Cause = m.cause(vm, c)
	m.n.Log.Append(e)
}

func (m *member) cause(vm world.VM, c child.Change) uint64 {
	return m.n.Causes.OfProcess(c.State, func(e event.Event) bool { return e.Object.VCenter == vm.VCenter && e.Object.Name == vm.Name })
}

func object(vm world.VM, component string) event.Object {
	return event.Object{Kind: "Node", VCenter: vm.VCenter, Name: strings.TrimPrefix(component, "node/")}
}
