package guest

import (
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Causing is [Guests.CausingRef] for all VMs that have that name, also for those that come to be called so meanwhile.
func (g *Guests) Causing(vm string, seq uint64) (release func()) {
	g.mu.Lock()
	g.named[vm] = seq
	var refs []vc.Ref
	for ref, name := range g.names {
		if name == vm {
			refs = append(refs, ref)
		}
	}
	g.mu.Unlock()
	releases := make([]func(), len(refs))
	for i, ref := range refs {
		releases[i] = g.CausingRef(ref, seq)
	}
	return func() {
		for _, release := range releases {
			release()
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.named[vm] == seq {
			delete(g.named, vm)
		}
	}
}

// CausingRef names the event that is the cause of what happens to the VM until release is called. Of two at once the
// later one counts.
func (g *Guests) CausingRef(vm types.ManagedObjectReference, seq uint64) (release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.causes[vm] = seq
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.causes[vm] == seq {
			delete(g.causes, vm)
		}
	}
}

// Cause is the event that [Guests.Causing] or [Guests.CausingRef] has named for the VM; 0 for none. It locks nothing of
// vcsim's.
func (g *Guests) Cause(vm types.ManagedObjectReference) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if seq := g.causes[vm]; seq != 0 {
		return seq
	}
	return g.named[g.names[vm]]
}

// log writes one event about the VM and returns its place in the log.
func (g *Guests) log(m *machine, level event.Level, kind string, cause uint64, message string) uint64 {
	if g.opts.Events == nil {
		return 0
	}
	if cause == 0 {
		g.mu.Lock()
		if cause = g.causes[m.ref]; cause == 0 {
			cause = g.named[m.name]
		}
		g.mu.Unlock()
	}
	return g.opts.Events.Append(event.Event{
		Plane:   event.PlaneVSphere,
		Level:   level,
		Kind:    kind,
		Object:  event.Object{Kind: "VM", VCenter: g.opts.VCenter, Name: m.name},
		Message: message,
		Cause:   cause,
	})
}
