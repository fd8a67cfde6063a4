package processes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/deploy"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/components"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/nodes"
)

// target is a process of the sandbox. Its functions fail or do nothing once the process does not exist any more.
type target struct {
	// name is what the request calls it, component its name in the registry, proxy that of its proxy to the API server.
	name, component, proxy string
	object                 event.Object // in events
	vm                     event.Object // the VM of a node
	// paused and resumed are the kinds of events.
	paused, resumed string

	runs          func() error // nil: there is a process, and it is not suspended with its VM
	alive         func() bool  // there is one, or will be one again
	crash         func(context.Context) error
	pause, resume func(context.Context) (changed bool, err error)
	restart       func(context.Context) error
	// network is set for a guest that cuts its own connections; for others the proxy does.
	network node.Network
	// kubelet is nil for anything but a node.
	kubelet *nodes.Kubelet
}

// find finds the process of a component.
func (p *Processes) find(name string) (*target, error) {
	if host, ok := strings.CutPrefix(name, "node/"); ok {
		return p.node(host)
	}
	t := &target{
		name: name, component: name, proxy: name, object: event.Object{Kind: "Component", Name: name},
		paused: "component.paused", resumed: "component.resumed",
	}
	if _, ok := p.Pods.Find(name); ok {
		p.inPod(t)
		return t, nil
	}
	c := p.child(name)
	if c == nil {
		return nil, fmt.Errorf("component %q not found", name)
	}
	t.runs = func() error {
		if c.PID() == 0 {
			return fmt.Errorf("%s: no process is running: it is %s", name, c.State())
		}
		return nil
	}
	t.alive = func() bool { return c.State() != child.Stopped }
	t.crash = func(context.Context) error { return c.Crash() }
	t.pause = func(context.Context) (bool, error) { return p.Components.Suspend(c) }
	t.resume = func(context.Context) (bool, error) { return p.Components.Resume(c) }
	t.restart = func(ctx context.Context) error {
		p.Components.Freeze(name, false)
		return c.Renew(ctx)
	}
	return t, nil
}

// child returns the child process of a component, nil for none.
func (p *Processes) child(name string) *child.Child {
	switch name {
	case nodes.LightComponent:
		return p.Nodes.LightProgram()
	case embedded.Component:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.controlPlane
	}
	if c := p.CSI.Find(name); c != nil {
		return c
	}
	return p.CCM().Child(name)
}

// inPod makes t a container of a pod.
func (p *Processes) inPod(t *target) {
	name := t.name
	t.runs = func() error {
		if c, ok := p.Pods.Find(name); !ok || c.State != deploy.Running {
			return fmt.Errorf("%s: no process is running: %s", name, components.PodText(c))
		}
		return nil
	}
	t.alive = func() bool { _, ok := p.Pods.Find(name); return ok }
	t.crash = func(ctx context.Context) error { return p.Pods.Kill(ctx, name) }
	t.pause = func(ctx context.Context) (bool, error) {
		if err := p.Pods.Pause(ctx, name); err != nil {
			return false, err
		}
		return p.Components.Freeze(name, true), nil
	}
	t.resume = func(ctx context.Context) (bool, error) {
		if err := p.Pods.Resume(ctx, name); err != nil {
			return false, err
		}
		return p.Components.Freeze(name, false), nil
	}
	t.restart = func(ctx context.Context) error {
		p.Components.Freeze(name, false)
		return p.Pods.Restart(ctx, name)
	}
}

// node finds the kubelet of the Node with that name.
func (p *Processes) node(host string) (*target, error) {
	k, err := p.Nodes.Kubelet(host)
	if err != nil {
		return nil, err
	}
	state := func() node.Process { p, _, _ := k.State(); return p }
	network, _ := k.Guest.(node.Network)
	return &target{
		network: network, kubelet: k, name: "node/" + host, component: k.Component, proxy: k.Proxy,
		object: event.Object{Kind: "Node", VCenter: k.Key.VCenter, Name: host},
		vm:     event.Object{Kind: "VM", VCenter: k.Key.VCenter, Name: k.VM},
		paused: "node.hung", resumed: "node.resumed", // as the actions of users
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
	}, nil
}

// findNode finds a node that takes volumes.
func (p *Processes) findNode(component string) (*target, error) {
	t, err := p.find(component)
	switch {
	case err != nil:
		return nil, err
	case t.kubelet == nil:
		return nil, fmt.Errorf("component %q: is no node", component)
	case !p.Volumes:
		return nil, errors.New("the sandbox has no volumes: it was started with --csi off")
	}
	return t, nil
}
