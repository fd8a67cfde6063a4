package cns

import (
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// subject is what an event is about: a volume, and the VM that had a part in it, if any.
type subject struct {
	id, name string
	vm       vc.Ref
	vmName   string
}

// about is the subject of an event of a volume, with a VM (the zero reference for none).
func (v *volume) about(vm vc.Ref) subject { return subject{id: v.id, name: v.name, vm: vm} }

// log writes an event; its cause is what [Manager.Causing] named for the volume, or Options.Cause for the VM. It locks
// nothing but what it has itself, and may be called with m.mu not held only.
func (m *Manager) log(s subject, level event.Level, kind, format string, args ...any) {
	if m.opts.Events == nil {
		return
	}
	m.mu.Lock()
	cause := m.causes[s.id]
	m.mu.Unlock()
	if cause == 0 && s.vm.Value != "" && m.opts.Cause != nil {
		cause = m.opts.Cause(s.vm)
	}
	name := s.name
	if name == "" {
		name = s.id
	}
	m.opts.Events.Append(event.Event{
		Plane: event.PlaneVSphere, Level: level, Kind: kind, Cause: cause, Message: fmt.Sprintf(format, args...),
		Object: event.Object{Kind: "Volume", VCenter: m.opts.VCenter, Name: name},
	})
}

// Causing names the event that is the cause of what happens to the volume until release is called.
func (m *Manager) Causing(volume string, seq uint64) (release func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.causes[volume] = seq
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.causes[volume] == seq {
			delete(m.causes, volume)
		}
	}
}

// refused writes that something was not done to a volume, and why.
func (m *Manager) refused(s subject, what, why string) {
	on := ""
	if s.vmName != "" {
		on = " on VM " + s.vmName
	}
	m.log(s, event.Warning, "volume.refused", "%s%s refused: %s", what, on, why)
}
