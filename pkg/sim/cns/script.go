package cns

import (
	"fmt"
	"slices"
	"strings"
	"time"

	cnstypes "github.com/vmware/govmomi/cns/types"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/truth"
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
	// Fault is what the results of the volumes have, as CNS reports what it cannot do; TaskFault is what the task itself
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

// messageOf is what a vCenter says of a fault beside it, as clients log it.
func messageOf(f types.BaseMethodFault) string {
	if f, ok := f.(*cnstypes.CnsFault); ok {
		return "CnsFault error: " + f.Reason
	}
	if said := truth.Message(f); said != "" {
		return said
	}
	return reasonOf(f)
}

// reason is reasonOf for an event of the volume, which tells more than CNS does. nil is a volume that there is not. The
// lock is held.
func (v *volume) reason(f types.BaseMethodFault) string {
	if _, used := f.(*types.ResourceInUse); used && v != nil && v.on != nil {
		return "volume " + v.id + ", on VM " + v.on.name + ", is in use"
	}
	return reasonOf(f)
}

// reasonOf says in words what a fault is about, for events.
func reasonOf(f types.BaseMethodFault) string {
	switch f := f.(type) {
	case *cnstypes.CnsFault:
		return f.Reason
	case *cnstypes.CnsAlreadyRegisteredFault:
		return "the disk is registered as volume " + f.VolumeId.Id
	case *cnstypes.CnsVolumeAlreadyExistsFault:
		return "volume " + f.VolumeId.Id + " exists"
	case *types.NotFound:
		return "the volume is not there, or not attached there"
	case *types.ManagedObjectNotFound:
		return fmt.Sprintf("%s %s is not there", f.Obj.Type, f.Obj.Value)
	case *types.ResourceInUse:
		return "the volume is in use"
	case *types.InvalidArgument:
		return "argument " + f.InvalidProperty + " is not valid"
	case *types.NoDiskSpace:
		return "datastore " + f.Datastore + " has not enough space"
	case *types.InaccessibleDatastore:
		return "datastore " + f.Name + ": " + f.Detail
	case *types.InvalidPowerState:
		return fmt.Sprintf("the VM is %s", f.ExistingState)
	case *types.InvalidState:
		return "the VM is in a state that does not allow it"
	case *types.FileLocked:
		return "the disk's file is locked"
	case *types.TooManyDevices:
		return "the VM has no free SCSI slot"
	case *types.NotSupported:
		return "not supported"
	case *types.NoPermission:
		return "no permission: " + f.PrivilegeId
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", f), "*types.")
}

// CNS says what it could not do in the results of tasks that succeed, for each volume.

// batch is the result of a task.
func batch(results ...cnstypes.BaseCnsVolumeOperationResult) *cnstypes.CnsVolumeOperationBatchResult {
	return &cnstypes.CnsVolumeOperationBatchResult{VolumeResults: results}
}

// outcome is what became of a volume; a nil fault is success.
func outcome(id string, fault types.BaseMethodFault) cnstypes.CnsVolumeOperationResult {
	return cnstypes.CnsVolumeOperationResult{VolumeId: cnstypes.CnsVolumeId{Id: id}, Fault: localized(fault)}
}

// localized is a fault in a result, nil for none.
func localized(f types.BaseMethodFault) *types.LocalizedMethodFault {
	if f == nil {
		return nil
	}
	return &types.LocalizedMethodFault{Fault: f, LocalizedMessage: messageOf(f)}
}

// inUse is what CNS says of a volume that is attached. It names neither volume nor VM
// (kubernetes-sigs/vsphere-csi-driver#1175).
func inUse() *types.ResourceInUse { return &types.ResourceInUse{Name: "volume"} }

// because is CNS's own fault, with what vSphere says in it.
func because(cause types.BaseMethodFault, format string, args ...any) *cnstypes.CnsFault {
	f := &cnstypes.CnsFault{Reason: "CNS: " + fmt.Sprintf(format, args...)}
	if cause != nil {
		f.FaultCause = localized(cause)
	}
	return f
}

// reach reports how many of the hosts that mount a datastore reach it. Its values are CNS's words for it, which vSphere
// Client knows.
type reach string

const (
	reachAll  reach = "accessible"
	reachSome reach = "partiallyAccessible"
	reachNone reach = "notAccessible"
)

// reach is that of the datastore; nil (it is gone) is reached by nobody.
func (s *store) reach() reach {
	switch {
	case s == nil || len(s.hosts) == 0:
		return reachNone
	case s.degraded:
		return reachSome
	}
	return reachAll
}

// unreached is the fault of an operation on a datastore that no host reaches, or that is gone (nil); nil when one does.
func unreached(ref vc.Ref, s *store) types.BaseMethodFault {
	switch {
	case s == nil:
		return &types.ManagedObjectNotFound{Obj: ref}
	case s.reach() == reachNone:
		return inaccessible(s, "no host reaches it")
	}
	return nil
}

// health is a volume's, by the reach of its datastore: a volume that some host reaches can be used.
func (r reach) health() pbmtypes.PbmHealthStatusForEntity {
	if r == reachNone {
		return pbmtypes.PbmHealthStatusForEntityRed
	}
	return pbmtypes.PbmHealthStatusForEntityGreen
}

// compliance reports whether a datastore meets a policy; nothing is known of one that cannot be reached.
func (m *Manager) compliance(policy string, datastore vc.Ref, r reach) pbmtypes.PbmComplianceStatus {
	switch {
	case policy == "":
		return pbmtypes.PbmComplianceStatusNotApplicable
	case r == reachNone:
		return pbmtypes.PbmComplianceStatusUnknown
	case m.opts.Compatible == nil || m.opts.Compatible(policy, datastore):
		return pbmtypes.PbmComplianceStatusCompliant
	}
	return pbmtypes.PbmComplianceStatusNonCompliant
}

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
