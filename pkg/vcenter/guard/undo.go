package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	cnstask "github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/scope"
)

// undo returns the action that reverts a write: the complete current state, so that the oldest of several writes suffices.
func (g *Guard) undo(ctx context.Context, vm inventory.VM, do journal.Action) (journal.Action, error) {
	switch do.Kind {
	case power, askGuest:
		return journal.Action{Kind: power, With: map[string]string{to: vm.Power}}, nil
	case rename:
		return journal.Action{Kind: rename, With: map[string]string{to: vm.Name}}, nil
	case attachTag, detachTag:
		has, err := hasTag(ctx, g.Connection, vm.Ref, do.With[tagID])
		if err != nil {
			return journal.Action{}, fmt.Errorf("read tags of %s: %w", vm.Path, err)
		}
		return journal.Action{Kind: either(has, attachTag, detachTag), With: do.With}, nil
	case attachVolume, detachVolume:
		has, err := hasVolume(ctx, g.Connection, vm.Ref, do.With[volumeID])
		if err != nil {
			return journal.Action{}, fmt.Errorf("read disks of %s: %w", vm.Path, err)
		}
		return journal.Action{Kind: either(has, attachVolume, detachVolume), With: do.With}, nil
	}
	return journal.Action{Kind: nothing}, nil
}

func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// aspect is the part of a VM that an undo concerns; the oldest undo of an aspect has the original state.
type aspect struct {
	vcenter, kind, of string
	ref               types.ManagedObjectReference
}

func aspectOf(e journal.Entry) aspect {
	a := aspect{vcenter: e.VCenter, ref: e.Ref, kind: e.Undo.Kind}
	switch a.kind {
	case attachTag, detachTag:
		a.kind, a.of = attachTag, e.Undo.With[tagID]
	case attachVolume, detachVolume:
		a.kind, a.of = attachVolume, e.Undo.With[volumeID]
	}
	return a
}

func hasTag(ctx context.Context, c *vcenter.Connection, vm types.ManagedObjectReference, id string) (has bool, err error) {
	err = c.DoREST(ctx, func(ctx context.Context, rc *rest.Client) error {
		ids, err := tags.NewManager(rc).ListAttachedTags(ctx, vm)
		has = slices.Contains(ids, id)
		return err
	})
	return has, err
}

func hasVolume(ctx context.Context, c *vcenter.Connection, vm types.ManagedObjectReference, id string) (has bool, err error) {
	err = c.Do(ctx, func(ctx context.Context, vim *vim25.Client) error {
		var m mo.VirtualMachine
		if err := property.DefaultCollector(vim).RetrieveOne(ctx, vm, []string{"config.hardware.device"}, &m); err != nil {
			return err
		}
		has = m.Config != nil && slices.ContainsFunc(m.Config.Hardware.Device, func(d types.BaseVirtualDevice) bool {
			disk, ok := d.(*types.VirtualDisk)
			return ok && disk.VDiskId != nil && disk.VDiskId.Id == id
		})
		return nil
	})
	return has, err
}

// Intent is the effect of a request. [Intent.Request] returns the request to send.
type Intent struct {
	// Method is its name in messages: a SOAP method, or method, path and action.
	Method string
	// Operation is its SOAP method; empty for others.
	Operation string
	// This is the object of a SOAP method; zero for others.
	This types.ManagedObjectReference
	// Write is set if it changes something.
	Write bool
	// VM is the changed VM, Do the change; both are zero for a write that cannot be allowed.
	VM types.ManagedObjectReference
	Do journal.Action

	// What is sent on.
	query       query
	body        []byte
	contentType string
}

// ParseIntent returns the intent of a request; body is the complete body. An unknown request is an error, and must be refused: lists of
// paths, methods and types define what reads, and which writes can be reverted. The SOAP method is the one in the body, not in a
// header.
func ParseIntent(r *http.Request, body []byte) (Intent, error) {
	in, err := look(r, body)
	if err != nil {
		return Intent{Method: in.Method, Operation: in.Operation}, err
	}
	return in, nil
}

func look(r *http.Request, body []byte) (Intent, error) {
	in := Intent{Method: r.Method + " " + r.URL.Path}
	if err := framed(r); err != nil {
		return in, err
	}
	q, err := target(r.URL)
	if err != nil {
		return in, err
	}
	if r.Method != http.MethodPost && len(body) > 0 {
		return in, errors.New("it has a body, where none is due")
	}
	if s, ok := serviceAt(r.URL.Path); ok && r.Method == http.MethodPost {
		in, err = s.inSOAP(r, body)
	} else {
		in, err = inREST(r, q, body)
	}
	in.query = q
	return in, err
}

// Revert reverts the pending writes of a journal, newest first. connections are keyed by the vCenters' names in the entries. It
// checks each VM first: it must be the one that was written to, by its instance UUID, and still in the scope. For a removed VM
// nothing is done. Of several writes to the same aspect the oldest one is reverted: a VM that was powered off and on again is
// left alone. Revert may be interrupted at any time and called again.
func Revert(ctx context.Context, j *journal.Journal, s scope.Scope, connections map[string]*vcenter.Connection) error {
	oldest, asked := map[aspect]int{}, guestsAsked(j.Pending())
	for _, e := range j.Pending() { // newest first
		oldest[aspectOf(e)] = e.Seq
	}
	return j.Revert(ctx, func(ctx context.Context, e journal.Entry) error {
		first, ending := oldest[aspectOf(e)] == e.Seq, asked[aspectOf(e)] == e.Seq
		if e.Undo.Kind == nothing || !first && !ending {
			return nil
		}
		c := connections[e.VCenter]
		if c == nil {
			return errors.New("is none of the vCenters that are configured")
		}
		vm, err := inventory.ReadVM(ctx, c, e.Ref, len(s.Tags) > 0)
		if gone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if e.InstanceUUID != "" && !strings.EqualFold(e.InstanceUUID, vm.InstanceUUID) {
			return fmt.Errorf("%s is another VM by now (instance UUID %s): nothing is done to it", vm.Path, vm.InstanceUUID)
		}
		// A detached tag may be the one that had put the VM into the scope, even if others are in it by folder.
		if e.Undo.Kind == attachTag && len(s.Tags) > 0 {
			vm.Tags = append(vm.Tags, tagsByID(ctx, c, e.Undo.With[tagID])...)
		}
		if err := s.CheckVM(vm); err != nil {
			return err
		}
		if ending {
			if err := awaitGuest(ctx, c, e); err != nil {
				return err
			}
		}
		if !first {
			return nil
		}
		if move := e.Undo.Kind == attachVolume || e.Undo.Kind == detachVolume; move {
			powered, ours := oldest[aspect{vcenter: e.VCenter, ref: e.Ref, kind: power}]
			return moveVolume(ctx, c, vm, e.Undo, ours && powered < e.Seq)
		}
		return apply(ctx, c, vm, e.Undo)
	})
}

func gone(err error) bool { return err != nil && fault.Is(err, &types.ManagedObjectNotFound{}) }

// tagsByID returns the tag with an ID, empty if it cannot be read.
func tagsByID(ctx context.Context, c *vcenter.Connection, id string) []inventory.Tag {
	var all []inventory.Tag
	_ = c.DoREST(ctx, func(ctx context.Context, rc *rest.Client) error { // then the VM stays out of the scope
		m := tags.NewManager(rc)
		tag, err := m.GetTag(ctx, id)
		if err != nil {
			return err
		}
		category, err := m.GetCategory(ctx, tag.CategoryID)
		if err == nil {
			all = []inventory.Tag{{Category: category.Name, Name: tag.Name}}
		}
		return err
	})
	return all
}

// apply brings a VM into the state of an action. It is idempotent, and makes no call if the VM has the state: refused writes are
// in the journal, too, and an account without the privilege cannot revert them either.
func apply(ctx context.Context, c *vcenter.Connection, vm inventory.VM, a journal.Action) error {
	switch a.Kind {
	case power:
		return setPower(ctx, c, vm, a.With[to])
	case rename:
		if vm.Name == a.With[to] {
			return nil
		}
		return run(ctx, c, func(ctx context.Context, vim *vim25.Client) (*object.Task, error) {
			return object.NewVirtualMachine(vim, vm.Ref).Rename(ctx, a.With[to])
		})
	case attachTag, detachTag:
		has, err := hasTag(ctx, c, vm.Ref, a.With[tagID])
		if err != nil || has == (a.Kind == attachTag) {
			return err
		}
		return c.DoREST(ctx, func(ctx context.Context, rc *rest.Client) error {
			m := tags.NewManager(rc)
			if a.Kind == attachTag {
				return m.AttachTag(ctx, a.With[tagID], vm.Ref)
			}
			return m.DetachTag(ctx, a.With[tagID], vm.Ref)
		})
	}
	return fmt.Errorf("%q is nothing that this version knows to take back", a.Kind)
}

// setPower waits for running tasks of a VM, and then powers it on or off, or suspends it.
func setPower(ctx context.Context, c *vcenter.Connection, vm inventory.VM, want string) error {
	now, err := settled(ctx, c, vm.Ref)
	if err != nil || now == want {
		return err
	}
	start := func(f func(*object.VirtualMachine, context.Context) (*object.Task, error)) error {
		err := run(ctx, c, func(ctx context.Context, vim *vim25.Client) (*object.Task, error) {
			return f(object.NewVirtualMachine(vim, vm.Ref), ctx)
		})
		if state := new(types.InvalidPowerState); fault.Is(err, state) {
			if now, looked := settled(ctx, c, vm.Ref); looked == nil && now == want {
				return nil // another client was faster
			}
		}
		return err
	}
	switch want {
	case poweredOn:
		return start((*object.VirtualMachine).PowerOn)
	case poweredOff:
		return start((*object.VirtualMachine).PowerOff)
	case suspended:
		if now == poweredOff {
			if err := start((*object.VirtualMachine).PowerOn); err != nil {
				return err
			}
		}
		return start((*object.VirtualMachine).Suspend)
	}
	return fmt.Errorf("%q is no power state", want)
}

// settled returns the power state of a VM without running tasks.
func settled(ctx context.Context, c *vcenter.Connection, ref types.ManagedObjectReference) (state string, err error) {
	err = c.Do(ctx, func(ctx context.Context, vim *vim25.Client) error {
		pc := property.DefaultCollector(vim)
		var m mo.VirtualMachine
		if err := pc.RetrieveOne(ctx, ref, []string{"recentTask"}, &m); err != nil {
			return err
		}
		for _, task := range m.RecentTask {
			err := object.NewTask(vim, task).Wait(ctx) // a failed task has changed nothing
			if ctx.Err() != nil {
				return errors.Join(err, context.Cause(ctx))
			}
		}
		if err := pc.RetrieveOne(ctx, ref, []string{"runtime.powerState"}, &m); err != nil {
			return err
		}
		state = string(m.Runtime.PowerState)
		return nil
	})
	return state, err
}

// run starts a task and waits for it.
func run(ctx context.Context, c *vcenter.Connection, start func(context.Context, *vim25.Client) (*object.Task, error)) error {
	return c.Do(ctx, func(ctx context.Context, vim *vim25.Client) error {
		task, err := start(ctx, vim)
		if err != nil {
			return err
		}
		return errors.Join(task.Wait(ctx), ctx.Err()) // an aborted wait returns nil
	})
}

// moveVolume attaches or detaches a volume, unless that is done. It ignores a volume that CNS does not know. A suspended VM
// cannot change disks: with resume, which means that an older entry sets its power state, it is powered on.
func moveVolume(ctx context.Context, c *vcenter.Connection, vm inventory.VM, a journal.Action, resume bool) error {
	id := a.With[volumeID]
	has, err := hasVolume(ctx, c, vm.Ref, id)
	if err != nil || has == (a.Kind == attachVolume) {
		return err
	}
	known := false
	err = c.Do(ctx, func(ctx context.Context, vim *vim25.Client) error {
		client, err := cns.NewClient(ctx, vim)
		if err != nil {
			return err
		}
		found, err := client.QueryVolume(ctx, &cnstypes.CnsQueryFilter{VolumeIds: []cnstypes.CnsVolumeId{{Id: id}}})
		known = err == nil && len(found.Volumes) > 0
		return err
	})
	if err != nil || !known {
		return err
	}
	state, err := settled(ctx, c, vm.Ref)
	if err == nil && state == suspended {
		if !resume {
			return fmt.Errorf("the VM is suspended, which is not by a write of this sandbox: %s of volume %s needs it on or off", a.Kind, id)
		}
		err = setPower(ctx, c, vm, poweredOn)
	}
	if err != nil {
		return err
	}
	return c.Do(ctx, func(ctx context.Context, vim *vim25.Client) error {
		client, err := cns.NewClient(ctx, vim)
		if err != nil {
			return err
		}
		move := client.DetachVolume
		if a.Kind == attachVolume {
			move = client.AttachVolume
		}
		task, err := move(ctx, []cnstypes.CnsVolumeAttachDetachSpec{{VolumeId: cnstypes.CnsVolumeId{Id: id}, Vm: vm.Ref}})
		if err != nil {
			return err
		}
		info, err := cns.GetTaskInfo(ctx, object.NewTask(vim, task.Reference()))
		if err != nil {
			return err
		}
		// A task of CNS may succeed with a result that is a fault.
		results, err := cns.GetTaskResultArray(ctx, info)
		for _, r := range results {
			if f := r.GetCnsVolumeOperationResult().Fault; f != nil {
				err = errors.Join(err, fmt.Errorf("volume %s: %w", id, cnstask.Error{LocalizedMethodFault: f}))
			}
		}
		return err
	})
}
