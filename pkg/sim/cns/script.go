package cns

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	cnstypes "github.com/vmware/govmomi/cns/types"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/corrections"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// Rule makes calls of CNS take longer, fail, or both. If several rules match, delays add up and the first fault counts.
type Rule struct {
	// Name is the name for [Manager.Unscript]. Several rules may share one.
	Name string
	// Method is the name of the call ("CnsAttachVolume"); empty: all that create a task.
	Method string
	// Volume is the ID or name of a volume, VM the reference of a VM. Zero values match all. For a call without a VM argument, VM
	// matches the VM of the volume.
	Volume string
	VM     types.ManagedObjectReference
	// Fault is the fault in the results of volumes, as CNS reports errors; TaskFault is the fault of the task, as for a failed
	// service. Nil: none.
	Fault     types.BaseMethodFault
	TaskFault types.BaseMethodFault
	// Delay delays the call before it does anything. It holds no lock.
	Delay time.Duration
	// Count limits the number of calls; 0: no limit.
	Count int
}

// rule is a Rule in force; guarded by Manager.mu.
type rule struct {
	Rule
	left   int
	undone chan struct{} // closed by undo: delays end
}

// Script puts a rule in force. undo ends it and its delays; it may be called again.
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

// Unscript ends all rules with that name.
func (m *Manager) Unscript(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unscript(func(r *rule) bool { return name != "" && r.Name == name })
}

// unscript ends rules and their delays. The caller holds the lock.
func (m *Manager) unscript(which func(*rule) bool) {
	m.rules = slices.DeleteFunc(m.rules, func(r *rule) bool {
		if !which(r) {
			return false
		}
		close(r.undone) // once: it is in the list once
		return true
	})
}

// verdict is the scripted result for one volume of a call.
type verdict struct {
	// fault is the fault of the result, task that of the task.
	fault, task types.BaseMethodFault
}

// scripted applies the script to a call for a volume (ID, or name of a new one) and a VM (zero: none), and waits for its delay.
// The caller must hold no lock and not have taken the volume.
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

// matching returns the rules for a call, and counts the call.
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

// wait waits for d, or until the rule is undone. It returns false when the manager ends.
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

// messageOf returns the message that a vCenter adds to a fault.
func messageOf(f types.BaseMethodFault) string {
	if f, ok := f.(*cnstypes.CnsFault); ok {
		return "CnsFault error: " + f.Reason
	}
	return corrections.Message(f)
}

// reason is reasonOf for an event of the volume, with more detail than CNS gives. v may be nil. The caller holds the lock.
func (v *volume) reason(f types.BaseMethodFault) string {
	if _, used := f.(*types.ResourceInUse); used && v != nil && v.on != nil {
		return "volume " + v.id + ", on VM " + v.on.name + ", is in use"
	}
	return reasonOf(f)
}

// reasonOf describes a fault, for events.
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

// CNS reports errors in the results of tasks that succeed, for each volume.

// batch is the result of a task.
func batch(results ...cnstypes.BaseCnsVolumeOperationResult) *cnstypes.CnsVolumeOperationBatchResult {
	return &cnstypes.CnsVolumeOperationBatchResult{VolumeResults: results}
}

// outcome is the result of one volume; a nil fault is success.
func outcome(id string, fault types.BaseMethodFault) cnstypes.CnsVolumeOperationResult {
	return cnstypes.CnsVolumeOperationResult{VolumeId: cnstypes.CnsVolumeId{Id: id}, Fault: localized(fault)}
}

// localized returns a fault for a result, or nil.
func localized(f types.BaseMethodFault) *types.LocalizedMethodFault {
	if f == nil {
		return nil
	}
	return &types.LocalizedMethodFault{Fault: f, LocalizedMessage: messageOf(f)}
}

// inUse returns CNS's fault for an attached volume. It names neither volume nor VM (kubernetes-sigs/vsphere-csi-driver#1175).
func inUse() *types.ResourceInUse { return &types.ResourceInUse{Name: "volume"} }

// because returns CNS's own fault, with vSphere's fault as its cause.
func because(cause types.BaseMethodFault, format string, args ...any) *cnstypes.CnsFault {
	f := &cnstypes.CnsFault{Reason: "CNS: " + fmt.Sprintf(format, args...)}
	if cause != nil {
		f.FaultCause = localized(cause)
	}
	return f
}

// reach is the part of the mounting hosts that reach a datastore. Its values are CNS's terms, shown by the vSphere Client.
type reach string

const (
	reachAll  reach = "accessible"
	reachSome reach = "partiallyAccessible"
	reachNone reach = "notAccessible"
)

// reach returns the reach of a datastore; no host reaches nil, a missing datastore.
func (s *store) reach() reach {
	switch {
	case s == nil || len(s.hosts) == 0:
		return reachNone
	case s.degraded:
		return reachSome
	}
	return reachAll
}

// unreached returns the fault for a datastore that no host reaches or that is gone (nil), and nil otherwise.
func unreached(ref vc.Ref, s *store) types.BaseMethodFault {
	switch {
	case s == nil:
		return &types.ManagedObjectNotFound{Obj: ref}
	case s.reach() == reachNone:
		return inaccessible(s, "no host reaches it")
	}
	return nil
}

// health returns the health of a volume on such a datastore: if any host reaches it, the volume is usable.
func (r reach) health() pbmtypes.PbmHealthStatusForEntity {
	if r == reachNone {
		return pbmtypes.PbmHealthStatusForEntityRed
	}
	return pbmtypes.PbmHealthStatusForEntityGreen
}

// compliance reports whether a datastore meets a policy; it is unknown for an unreachable one.
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

// subject is the subject of an event: a volume, and the VM involved, if any.
type subject struct {
	id, name string
	vm       vc.Ref
	vmName   string
}

// about returns the subject of an event of a volume, with a VM or zero.
func (v *volume) about(vm vc.Ref) subject { return subject{id: v.id, name: v.name, vm: vm} }

// log appends an event; its cause is that of [Manager.Causing] for the volume, or Options.Cause for the VM. The caller must not
// hold m.mu.
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
	name = cmp.Or(name, s.id)
	m.opts.Events.Append(event.Event{
		Plane: event.PlaneVSphere, Level: level, Kind: kind, Cause: cause, Message: fmt.Sprintf(format, args...),
		Object: event.Object{Kind: "Volume", VCenter: m.opts.VCenter, Name: name},
	})
}

// Causing makes seq the cause of what happens to the volume, until release is called.
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

// refused logs that an operation on a volume failed, and why.
func (m *Manager) refused(s subject, what, why string) {
	on := ""
	if s.vmName != "" {
		on = " on VM " + s.vmName
	}
	m.log(s, event.Warning, "volume.refused", "%s%s refused: %s", what, on, why)
}
