package sandbox

import (
	"context"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/accounts"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/causality"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/csi"
)

// What faults may ask for besides [fault.Processes].

// Causing names the event that is the cause of what is done to a component until release is called.
func (p processes) Causing(component string, seq uint64) (release func()) {
	return p.s.ongoing.Begin(component, seq)
}

// SlowEtcd has every request of the API server to etcd take so much longer, a moment after it returns; 0 ends that.
func (p ownProcesses) SlowEtcd(d time.Duration) error {
	return p.s.ground.(ground.ControlPlane).SlowEtcd(d)
}

// RenewToken hands the component a new token of its ServiceAccount, as a kubelet does.
func (p tokenProcesses) RenewToken(ctx context.Context, component string) error {
	var a accounts.Account
	if c, ok := p.s.ccm.(*ccm.Processes); ok {
		a = c.Account()
	}
	if name := csi.AccountOf(component); name != "" {
		a = p.s.csi.Account(name)
	}
	_, err := p.s.tokens.Write(ctx, a)
	return err
}

// Leader is the one of a component's replicas that leads, "" when none is known to.
func (p processes) Leader(string) string { return p.s.ccm.Leader() }

// cause is the event for whose sake something is done to a component: the one that was named, or the newest of a fault
// that is about it.
func (p processes) cause(t *supervised) uint64 {
	if seq := p.s.ongoing.Of(t.name); seq != 0 {
		return seq
	}
	return p.s.causes.Within(causality.JustNow, []string{"fault.injected", "fault.healed", "fault.expired"}, func(e event.Event) bool {
		return e.Object == t.object || t.vm.Kind != "" && e.Object == t.vm
	})
}
