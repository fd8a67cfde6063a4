package sandbox

import (
	"context"
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// processes is what can be done to the sandbox's processes, by component. All that is done is in the event log, and what
// comes of it has that for its cause.
type processes struct{ s *Sandbox }

// tokenProcesses are processes with tokens that the sandbox writes.
type tokenProcesses struct{ processes }

// ownProcesses are processes all of which are children of the sandbox, kubelets and the control plane, too: more can be done to
// them.
type ownProcesses struct{ tokenProcesses }

// processes returns what faults may do to processes; it may be used as soon as the sandbox is ready.
func (s *Sandbox) processes() fault.Processes {
	switch s.ground.(type) {
	case ground.Deployer:
		return processes{s}
	case ground.ControlPlane:
		return ownProcesses{tokenProcesses{processes{s}}}
	}
	return tokenProcesses{processes{s}}
}

// Running implements [fault.Processes].
func (p processes) Running(component string) error {
	t, err := p.s.supervised(component)
	if err != nil {
		return err
	}
	return t.runs()
}

// Kill implements [fault.Processes]. It returns when the process is gone.
func (p processes) Kill(ctx context.Context, component string) error {
	t, err := p.s.supervised(component)
	if err != nil {
		return err
	}
	if err := t.runs(); err != nil {
		return err
	}
	p.s.components.Expect(t.component, p.note(t, event.Warning, "component.killed", "killed: SIGKILL"))
	return t.crash(ctx)
}

// Pause implements [fault.Processes].
func (p processes) Pause(ctx context.Context, component string) error {
	t, err := p.s.supervised(component)
	if err != nil {
		return err
	}
	changed, err := t.pause(ctx)
	if err == nil && changed {
		p.note(t, event.Warning, t.hung("component.paused"), "stopped where it stood: SIGSTOP")
	}
	return err
}

// Resume implements [fault.Processes]. There is nothing to resume of a component that is gone.
func (p processes) Resume(ctx context.Context, component string) error {
	t, err := p.s.supervised(component)
	if err != nil {
		return nil // it is as harmless as to resume what runs
	}
	changed, err := t.resume(ctx)
	if err == nil && changed {
		p.note(t, event.Info, t.resumed("component.resumed"), "continues: SIGCONT")
	}
	return err
}

// Cut implements [fault.Processes].
func (p processes) Cut(component string, silent bool) error {
	t, err := p.s.supervised(component)
	if err != nil {
		return err
	}
	w := p.s.proxies.Find(t.wire)
	if w == nil && t.network == nil {
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
	w.Cut(silent)
	return nil
}

// Restore implements [fault.Processes]. A component that is gone has no way to mend.
func (p processes) Restore(component string) error {
	t, err := p.s.supervised(component)
	if err != nil {
		return nil // it is as harmless as to mend what is not cut
	}
	if t.network != nil && t.network.IsCut() {
		p.note(t, event.Info, "api.mended", "its way to everything is mended")
		return t.network.Restore()
	}
	if w := p.s.proxies.Find(t.wire); w != nil && w.IsCut() {
		p.note(t, event.Info, "api.mended", "its way to the API server is mended")
		w.Restore()
	}
	return nil
}

// Restart implements [fault.Processes]. A component that was paused is not any more.
func (p processes) Restart(ctx context.Context, component string) error {
	t, err := p.s.supervised(component)
	if err != nil {
		return err
	}
	p.s.components.Expect(t.component, p.note(t, event.Info, "component.restart", "is restarted: SIGTERM, then another process"))
	return t.restart(ctx)
}

// Replicas implements [fault.Processes].
func (p processes) Replicas(component string) int { return p.s.replicas(component) }

// Scale implements [fault.Processes].
func (p processes) Scale(ctx context.Context, component string, replicas int) error {
	return p.s.scale(ctx, component, replicas)
}

// note logs what is done to a component.
func (p processes) note(t *supervised, level event.Level, kind, message string) uint64 {
	return p.s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: level, Kind: kind, Object: t.object, Cause: p.cause(t),
		Message: t.name + ": " + message,
	})
}

// replicas returns the number of processes of a component that the sandbox keeps running. It is 0 for an unknown component, and for
// a kubelet whose VM is off.
func (s *Sandbox) replicas(component string) int {
	switch {
	case component == ccm.Component:
		return s.ccm.Count()
	case strings.HasPrefix(component, "node/"):
		if t, err := s.supervised(component); err != nil || !t.alive() {
			return 0
		}
	case s.childOf(component) == nil:
		return 0
	}
	return 1
}

// scale changes the number of processes of a component.
func (s *Sandbox) scale(ctx context.Context, component string, replicas int) error {
	switch {
	case s.replicas(component) == replicas:
		return nil
	case component == ccm.Component:
		return s.ccm.Scale(ctx, replicas)
	}
	return fmt.Errorf("component %q: cannot be scaled to %d", component, replicas)
}
