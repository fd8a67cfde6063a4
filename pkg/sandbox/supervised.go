package sandbox

import (
	"context"
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/nodes"
)

// supervised is a process of the sandbox that things can be done to. What is done to one that does not exist any more
// fails, or does nothing.
type supervised struct {
	// name is what it was asked for by, component what it is called among the components, wire what its way to the API
	// server is called.
	name, component, wire string
	object                event.Object // in events
	vm                    event.Object // the VM that a node is

	runs          func() error // nil: there is a process, and it is not suspended with its VM
	alive         func() bool  // there is one, or will be one again
	crash         func(context.Context) error
	pause, resume func(context.Context) (changed bool, err error)
	restart       func(context.Context) error
	// network is the way of a guest that is cut by the guest itself, and not at a wire; nil of others.
	network node.Network
	// guest is the node, of a kubelet; nil of anything else.
	guest *guest
}

// supervised finds a component: ccm, ccm-2, control-plane, or node/NAME by the name of the node.
func (s *Sandbox) supervised(name string) (*supervised, error) {
	if host, ok := strings.CutPrefix(name, "node/"); ok {
		return s.supervisedNode(host)
	}
	if is, ok := s.pods.Find(name); ok {
		return s.supervisedPod(is), nil
	}
	c := s.childOf(name)
	if c == nil {
		return nil, fmt.Errorf("component %q not found", name)
	}
	return &supervised{
		name: name, component: name, wire: name, object: event.Object{Kind: "Component", Name: name},
		runs: func() error {
			if c.PID() == 0 {
				return fmt.Errorf("%s: no process is running: it is %s", name, c.State())
			}
			return nil
		},
		alive:  func() bool { return c.State() != child.Stopped },
		crash:  func(context.Context) error { return c.Crash() },
		pause:  func(context.Context) (bool, error) { return s.components.Suspend(c) },
		resume: func(context.Context) (bool, error) { return s.components.Resume(c) },
		restart: func(ctx context.Context) error {
			s.components.Freeze(name, false)
			return c.Renew(ctx)
		},
	}, nil
}

// childOf returns a component that is a separate child process; nil if no such component exists.
func (s *Sandbox) childOf(name string) *child.Child {
	if name == nodes.LightComponent {
		return s.nodes.LightProgram()
	}
	if name != embedded.Component {
		if c := s.csi.Find(name); c != nil {
			return c
		}
		return s.ccm.Child(name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.controlPlane
}

// supervisedNode finds the kubelet of the Node with that name.
func (s *Sandbox) supervisedNode(host string) (*supervised, error) {
	k, err := s.nodes.Kubelet(host)
	if err != nil {
		return nil, err
	}
	state := func() node.Process { p, _, _ := k.State(); return p }
	network, _ := k.Guest.(node.Network)
	return &supervised{
		network: network,
		name:    "node/" + host, component: k.Component, wire: k.Proxy,
		object: event.Object{Kind: "Node", VCenter: k.Key.VCenter, Name: host},
		vm:     event.Object{Kind: "VM", VCenter: k.Key.VCenter, Name: k.VM},
		runs: func() error {
			if p, pid, _ := k.State(); pid == 0 || p == node.Paused {
				return fmt.Errorf("node %q: its kubelet is %s", host, p)
			}
			return nil
		},
		alive: func() bool { return state() != node.Stopped },
		crash: k.Crash,
		pause: func(context.Context) (bool, error) {
			if k.Hang() {
				return true, nil
			}
			if p := state(); p != node.Hung {
				return false, fmt.Errorf("node %q: its kubelet is %s", host, p)
			}
			return false, nil
		},
		resume: func(context.Context) (bool, error) {
			hung := state() == node.Hung
			k.Unhang()
			return hung, nil
		},
		restart: k.Restart,
		guest:   &guest{node: k.Guest, dir: k.Dir},
	}, nil
}

// hung is what an event of a pause is called: of a node it is the one that actions make, too.
func (t *supervised) hung(otherwise string) string {
	if t.object.Kind == "Node" {
		return "node.hung"
	}
	return otherwise
}

// resumed is the same for the end of it.
func (t *supervised) resumed(otherwise string) string {
	if t.object.Kind == "Node" {
		return "node.resumed"
	}
	return otherwise
}
