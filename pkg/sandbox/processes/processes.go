// Package processes does to the processes of a sandbox what faults ask for: it kills, suspends, restarts and scales them and cuts
// their connections. Every change is in the event log, as the cause of what follows.
//
// Floor 3.
package processes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/accounts"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/causality"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/components"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/nodes"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/pods"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// Processes finds the processes of a sandbox by component: ccm, ccm-2, control-plane, or node/NAME. It implements
// [fault.Processes]; [Processes.For] adds what a ground allows besides. Its methods may be called from any goroutine as soon as
// the sandbox is ready.
type Processes struct {
	Log        *event.Log
	Causes     *causality.Finder
	Ongoing    *causality.Ongoing
	Components *components.Registry
	Proxies    *components.Proxies
	Tokens     *accounts.Tokens
	Nodes      *nodes.Nodes
	Pods       *pods.Pods
	CSI        *csi.Driver
	CCM        func() ccm.Manager
	// Volumes reports that Nodes take volumes.
	Volumes bool

	mu           sync.Mutex
	controlPlane *child.Child
}

var _ fault.Processes = (*Processes)(nil)

// withTokens are processes with tokens that the sandbox writes.
type withTokens struct{ *Processes }

// ofSandbox are processes all of which are children of the sandbox, the kubelets and the control plane, too.
type ofSandbox struct {
	withTokens
	ground.ControlPlane
}

// For returns what faults may do to processes on a ground.
func (p *Processes) For(g ground.Ground) fault.Processes {
	if _, ok := g.(ground.Deployer); ok {
		return p
	}
	if c, ok := g.(ground.ControlPlane); ok {
		return ofSandbox{withTokens{p}, c}
	}
	return withTokens{p}
}

// StartControlPlane starts the process of the control plane.
func (p *Processes) StartControlPlane(spec child.Spec) *child.Child {
	started := child.Start(p.Components.Spec(spec), p.Components.Notify)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.controlPlane = started
	return started
}

// Running implements [fault.Processes].
func (p *Processes) Running(component string) error {
	t, err := p.find(component)
	if err != nil {
		return err
	}
	return t.runs()
}

// Kill implements [fault.Processes]. It returns when the process is gone.
func (p *Processes) Kill(ctx context.Context, component string) error {
	t, err := p.find(component)
	if err != nil {
		return err
	}
	if err := t.runs(); err != nil {
		return err
	}
	p.Components.Expect(t.component, p.note(t, event.Warning, "component.killed", "killed: SIGKILL"))
	return t.crash(ctx)
}

// Pause implements [fault.Processes].
func (p *Processes) Pause(ctx context.Context, component string) error {
	t, err := p.find(component)
	if err != nil {
		return err
	}
	changed, err := t.pause(ctx)
	if err == nil && changed {
		p.note(t, event.Warning, t.paused, "stopped where it stood: SIGSTOP")
	}
	return err
}

// Resume implements [fault.Processes]. It does nothing for a component that is gone.
func (p *Processes) Resume(ctx context.Context, component string) error {
	t, err := p.find(component)
	if err != nil {
		return nil // as harmless as to resume a process that runs
	}
	changed, err := t.resume(ctx)
	if err == nil && changed {
		p.note(t, event.Info, t.resumed, "continues: SIGCONT")
	}
	return err
}

// Cut implements [fault.Processes].
func (p *Processes) Cut(component string, silent bool) error {
	t, err := p.find(component)
	if err != nil {
		return err
	}
	proxy := p.Proxies.Find(t.proxy)
	if proxy == nil && t.network == nil {
		return fmt.Errorf("%s: has no way to the API server that could be cut", component)
	}
	how := "connections are reset and none is made"
	if silent {
		how = "packets vanish"
	}
	if t.network != nil {
		p.note(t, event.Warning, "api.cut", "its way to everything is cut: "+how)
		return t.network.Cut(silent)
	}
	p.note(t, event.Warning, "api.cut", "its way to the API server is cut: "+how)
	proxy.Cut(silent)
	return nil
}

// Restore implements [fault.Processes]. It does nothing for a component that is gone.
func (p *Processes) Restore(component string) error {
	t, err := p.find(component)
	if err != nil {
		return nil // as harmless as to mend what is not cut
	}
	if t.network != nil && t.network.IsCut() {
		p.note(t, event.Info, "api.mended", "its way to everything is mended")
		return t.network.Restore()
	}
	if proxy := p.Proxies.Find(t.proxy); proxy != nil && proxy.IsCut() {
		p.note(t, event.Info, "api.mended", "its way to the API server is mended")
		proxy.Restore()
	}
	return nil
}

// Restart implements [fault.Processes]. It resumes a component that was paused.
func (p *Processes) Restart(ctx context.Context, component string) error {
	t, err := p.find(component)
	if err != nil {
		return err
	}
	p.Components.Expect(t.component, p.note(t, event.Info, "component.restart", "is restarted: SIGTERM, then another process"))
	return t.restart(ctx)
}

// Replicas returns the number of processes of a component that the sandbox keeps running. It is 0 for an unknown component, and for
// a kubelet whose VM is off.
func (p *Processes) Replicas(component string) int {
	switch {
	case component == ccm.Component:
		return p.CCM().Count()
	case strings.HasPrefix(component, "node/"):
		if t, err := p.find(component); err != nil || !t.alive() {
			return 0
		}
	case p.child(component) == nil:
		return 0
	}
	return 1
}

// Scale implements [fault.Processes].
func (p *Processes) Scale(ctx context.Context, component string, replicas int) error {
	switch {
	case p.Replicas(component) == replicas:
		return nil
	case component == ccm.Component:
		return p.CCM().Scale(ctx, replicas)
	}
	return fmt.Errorf("component %q: cannot be scaled to %d", component, replicas)
}

// Causing sets the event that is the cause of what is done to a component until release is called.
func (p *Processes) Causing(component string, seq uint64) (release func()) {
	return p.Ongoing.Begin(component, seq)
}

// Leader returns the replica of a component that leads, "" if none is known.
func (p *Processes) Leader(string) string { return p.CCM().Leader() }

// RenewToken writes a new token of the component's ServiceAccount, as a kubelet does.
func (p withTokens) RenewToken(ctx context.Context, component string) error {
	var a accounts.Account
	if c, ok := p.CCM().(*ccm.Processes); ok {
		a = c.Account()
	}
	if name := p.CSI.AccountOf(component); name != "" {
		a = p.CSI.Account(name)
	}
	_, err := p.Tokens.Write(ctx, a)
	return err
}

// WithholdLinks hides the disks that the guest of a node, component node/NAME, gets from now on, or ends that.
func (p *Processes) WithholdLinks(component string, withheld bool) error {
	t, err := p.findNode(component)
	if err != nil {
		return err
	}
	level, kind, message := event.Info, "node.links-shown", "disks that it is given appear again"
	if withheld {
		level, kind, message = event.Warning, "node.links-withheld", "disks that it is given do not appear any more"
	}
	p.note(t, level, kind, message)
	t.kubelet.WithholdLinks(withheld)
	return nil
}

// RegisterCSI removes the socket by which the kubelet of a node, component node/NAME, knows its CSI node service, or puts it
// back, unless a kubelet that was started since has another.
func (p ofSandbox) RegisterCSI(component string, registered bool) error {
	t, err := p.findNode(component)
	if err != nil {
		return err
	}
	socket := filepath.Join(t.kubelet.Dir, "kubelet", "plugins_registry", names.Driver+"-reg.sock")
	aside := filepath.Join(t.kubelet.Dir, "csi-registration.aside")
	if registered {
		err := os.Link(aside, socket)
		switch {
		case errors.Is(err, fs.ErrNotExist): // done already
			return nil
		case err != nil && !errors.Is(err, fs.ErrExist):
			return err
		}
		return os.Remove(aside)
	}
	if err := os.Remove(aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Link(socket, aside); err != nil { // not renamed: kubelet does not notice that
		return err
	}
	p.note(t, event.Warning, "node.csi-socket-removed", "the socket that announces its CSI node service is gone")
	return os.Remove(socket)
}

// note logs a change of a component.
func (p *Processes) note(t *target, level event.Level, kind, message string) uint64 {
	return p.Log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: level, Kind: kind, Object: t.object, Cause: p.cause(t),
		Message: t.name + ": " + message,
	})
}

// cause returns the event that [Processes.Causing] has set for a component, else the newest of a fault in it.
func (p *Processes) cause(t *target) uint64 {
	if seq := p.Ongoing.Of(t.name); seq != 0 {
		return seq
	}
	return p.Causes.Within(causality.JustNow, []string{"fault.injected", "fault.healed", "fault.expired"}, func(e event.Event) bool {
		return e.Object == t.object || t.vm.Kind != "" && e.Object == t.vm
	})
}
