package access

import (
	"github.com/vmware/govmomi/simulator"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Visible tells whether the user of the call may see the object: has System.View on it, or on something below it.
// Objects that permissions cannot be set on are as visible as the object that they belong to, or visible if they belong
// to none. Call it with no object locked, or with only this one, by the same ctx.
func (m *Manager) Visible(ctx *simulator.Context, ref vc.Ref) bool {
	if !m.restricted.Load() {
		return true
	}
	a := m.caller(ctx)
	if a == nil {
		return ref.Type == "ServiceInstance"
	}
	on, ok := m.entity(ctx, ref)
	return !ok || m.allowed(ctx, a, viewPrivilege, on)
}

// Filter returns those of the objects that the user of the call may see. It may return refs itself, or write to it.
func (m *Manager) Filter(ctx *simulator.Context, refs []vc.Ref) []vc.Ref {
	if !m.restricted.Load() {
		return refs
	}
	kept := refs[:0]
	for _, ref := range refs {
		if m.Visible(ctx, ref) {
			kept = append(kept, ref)
		}
	}
	return kept
}

// Readable tells whether the user of the call may read the properties of an object: has System.Read on it. Objects on the
// way to what the user may see count as readable, because clients find their way by names and lists of children, for
// which vCenter asks for no more than System.View. Call it as [Manager.Visible].
func (m *Manager) Readable(ctx *simulator.Context, ref vc.Ref) bool {
	if !m.restricted.Load() {
		return true
	}
	a := m.caller(ctx)
	if a == nil {
		return ref.Type == "ServiceInstance"
	}
	on, ok := m.entity(ctx, ref)
	if !ok {
		return true
	}
	r := m.rules.Load()
	return m.allowed(ctx, a, readPrivilege, on) || m.view(r, a).onTheWay(ctx, on)
}

// Allowed tells whether a user, by any form of the name, has a privilege on an object; the zero reference means the root
// folder. It is for REST, where calls come without a context.
func (m *Manager) Allowed(user, privilege string, on vc.Ref) bool {
	if !m.restricted.Load() {
		return true
	}
	a := m.accounts.find(user)
	if a == nil {
		return false
	}
	ctx := vc.Fresh(m.base)
	if on == (vc.Ref{}) {
		on = m.root
	} else {
		on = m.entityOrRoot(ctx, on)
	}
	return m.allowed(ctx, a, privilege, on)
}

// MayRead tells whether a user may know what tags an object has, or what is on it: has System.Read on it. To see it on the
// way to something else is not enough.
//
// Source: com.vmware.cis.tagging.tag_association in the vSphere Automation API: only objects that the user may read are
// listed.
func (m *Manager) MayRead(user string, ref vc.Ref) bool { return m.Allowed(user, readPrivilege, ref) }

// MayTag tells whether a user may tag an object or, of the root folder, whether the user may create, change and delete
// tags and categories.
func (m *Manager) MayTag(user string, ref vc.Ref) bool {
	if ref == m.root || ref == (vc.Ref{}) {
		return m.Allowed(user, "InventoryService.Tagging.CreateTag", m.root)
	}
	return m.Allowed(user, "InventoryService.Tagging.AttachTag", ref)
}
