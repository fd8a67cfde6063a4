package guard

import (
	"context"
	"errors"
	"fmt"
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
		if err := s.Allows(vm); err != nil {
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
