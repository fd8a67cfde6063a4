package cns

import (
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Rule is what is to become of calls of CNS: they take longer, or fail, or both. Of several rules that match, delays add
// up and the first fault counts.
type Rule struct {
	// Name is by what [Manager.Unscript] knows it; several may have the same. Empty: by none.
	Name string
	// Method is the call's name ("CnsAttachVolume"); empty: all that make a task.
	Method string
	// Volume is the id of a volume, or its name; VM a VM's reference. Zero values match all. A call that has no VM in its
	// arguments is matched by the one that the volume is attached to.
	Volume string
	VM     types.ManagedObjectReference
	// Fault is what the results of the volumes have, as CNS tells what it cannot do; TaskFault is what the task itself
	// ends in, as when the service has a problem. Nil: none.
	Fault     types.BaseMethodFault
	TaskFault types.BaseMethodFault
	// Delay is how long the call takes before anything is done. It locks nothing.
	Delay time.Duration
	// Count is how many calls it is for; 0: all.
	Count int
}

// rule is a Rule in force; guarded by Manager.mu.
type rule struct {
	Rule
	left   int
	undone chan struct{} // closed by undo: delays end
}

// Script puts a rule in force. undo ends it, and delays that are under way because of it; it may be called again.
func (m *Manager) Script(r Rule) (undo func()) {
	in := &rule{Rule: r, left: r.Count, undone: make(chan struct{})}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rules = append(m.rules, in)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.unscript(func(r *rule) bool { return r == in })
	}
}

// Unscript undoes the rules of that name. None is as well.
func (m *Manager) Unscript(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unscript(func(r *rule) bool { return name != "" && r.Name == name })
}

// unscript ends rules, and the delays that are under way because of them. The lock is held.
func (m *Manager) unscript(which func(*rule) bool) {
	m.rules = slices.DeleteFunc(m.rules, func(r *rule) bool {
		if !which(r) {
			return false
		}
		close(r.undone) // once: it is in the list once
		return true
	})
}

// verdict is what the script says of one volume in a call.
type verdict struct {
	// fault is that of the result, task that of the task.
	fault, task types.BaseMethodFault
}

// scripted asks the script about a call for a volume (id; or name, for one that is to be made) and a VM (zero: none), and
// waits for as long as it says. No lock is held by the caller, and the volume is not taken.
func (m *Manager) scripted(method, volume string, vm vc.Ref) (v verdict) {
	for _, r := range m.matching(method, volume, vm) {
		if r.Delay > 0 && !m.wait(r.Delay, r.undone) {
			return verdict{task: new(types.RequestCanceled)}
		}
		if v.fault == nil {
			v.fault = r.Fault
		}
		if v.task == nil {
			v.task = r.TaskFault
		}
	}
	return v
}

// matching lists the rules that are for a call, and counts it.
func (m *Manager) matching(method, volume string, vm vc.Ref) (all []*rule) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.rules) == 0 {
		return nil
	}
	name := volume
	if v := m.volumes[volume]; v != nil {
		name = v.name
		if vm.Value == "" && v.on != nil {
			vm = v.on.vm
		}
	}
	for _, r := range m.rules {
		if r.Method != "" && r.Method != method || r.Volume != "" && r.Volume != volume && r.Volume != name ||
			r.VM.Value != "" && r.VM != vm || r.Count > 0 && r.left == 0 {
			continue
		}
		if r.Count > 0 {
			r.left--
		}
		all = append(all, r)
	}
	return all
}

// wait returns after that time, or when the rule is undone; false when the manager ends.
func (m *Manager) wait(d time.Duration, undone <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-undone:
		return true
	case <-m.stop:
		return false
	}
}
