package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/cns"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
)

// Act acts on a volume through CNS of its vCenter, without Kubernetes, as an administrator may do. It returns when the vCenter
// reports the action as done.
func (w *Watcher) Act(ctx context.Context, r api.VolumeRequest) (api.Done, error) {
	v, err := Find(w.Rows(), r.Volume)
	if err != nil {
		return api.Done{}, err
	}
	if v.VCenter == "" {
		return api.Done{}, api.Conflict("volume %q: is in no vCenter: it is %s", r.Volume, v.State)
	}
	what, ok := volumeOperations[r.Action]
	if !ok {
		return api.Done{}, &api.Error{Code: "invalid", Message: fmt.Sprintf("action %q: no such action", r.Action)}
	}
	vc := w.VCenters().Find(v.VCenter)
	if held, ok := vc.Volume(v.Handle); ok {
		v.Handle = held.ID // the row may have the path of the disk
	}
	if err := w.Allow(vc, v, r); err != nil {
		return api.Done{}, err
	}
	done, start, err := what(vc, v, r)
	if err != nil {
		return api.Done{}, err
	}
	o := event.Object{Kind: "Volume", VCenter: v.VCenter, Name: v.Name}
	seq := w.Log.Append(event.Event{
		Plane: event.PlaneSandbox, Kind: "command.volume-" + string(r.Action), Object: o, Message: fmt.Sprintf("volume %s %s", r.Action, v.Name),
	})
	err = vc.Client.Do(ctx, func(ctx context.Context, session *vcenter.Session) error {
		client, err := cns.NewClient(ctx, session.Vim)
		if err != nil {
			return err
		}
		task, err := start(ctx, client)
		if err != nil {
			return err
		}
		return taskFault(ctx, object.NewTask(session.Vim, task.Reference()))
	})
	switch {
	case errors.Is(err, vcenter.ErrNotConnected):
		return api.Done{}, &api.Error{Code: "unavailable", Message: err.Error()}
	case err != nil:
		w.Log.Append(event.Event{Plane: event.PlaneSandbox, Level: event.Warning, Kind: "command.failed", Cause: seq, Object: o, Message: vcenters.ErrorText(err)})
		return api.Done{}, api.Conflict("volume %q: %s: %s", r.Volume, r.Action, vcenters.ErrorText(err))
	}
	return api.Done{Message: fmt.Sprintf("volume %q %s", v.Name, done), Seq: seq}, nil
}

// startTask is a call to CNS that starts a task.
type startTask func(context.Context, *cns.Client) (*object.Task, error)

// volumeOperations are the CNS calls of the actions. Each returns the new state of the volume for the message.
var volumeOperations = map[api.VolumeAction]func(*vcenters.VCenter, api.Volume, api.VolumeRequest) (done string, _ startTask, _ error){
	api.DetachVolume: func(vc *vcenters.VCenter, v api.Volume, _ api.VolumeRequest) (string, startTask, error) {
		held, ok := vc.Volume(v.Handle)
		if !ok || held.VM.Value == "" {
			return "", nil, api.Conflict("volume %q: is attached to no VM", v.Name)
		}
		return "detached from vm " + held.VMName, func(ctx context.Context, c *cns.Client) (*object.Task, error) {
			return c.DetachVolume(ctx, []cnstypes.CnsVolumeAttachDetachSpec{{VolumeId: cnstypes.CnsVolumeId{Id: v.Handle}, Vm: held.VM}})
		}, nil
	},
	api.RelocateVolume: func(vc *vcenters.VCenter, v api.Volume, r api.VolumeRequest) (string, startTask, error) {
		for _, ds := range vc.Inventory.Datastores() {
			if r.Datastore != ds.Name && r.Datastore != ds.Path && r.Datastore != ds.URL {
				continue
			}
			spec := cnstypes.NewCnsBlockVolumeRelocateSpec(v.Handle, types.ManagedObjectReference{Type: "Datastore", Value: ds.MoRef})
			return "moved to datastore " + ds.Name, func(ctx context.Context, c *cns.Client) (*object.Task, error) {
				return c.RelocateVolume(ctx, spec)
			}, nil
		}
		return "", nil, &api.Error{
			Code: "not-found", Message: fmt.Sprintf("datastore %q: vCenter %q has none of that name", r.Datastore, vc.Name()), Try: "vsphere-sandbox get datastores",
		}
	},
}

// taskFault waits for a task of CNS. One that succeeds may have results that are faults.
func taskFault(ctx context.Context, task *object.Task) error {
	info, err := task.WaitForResult(ctx, nil)
	if err != nil {
		return err
	}
	batch, ok := info.Result.(cnstypes.CnsVolumeOperationBatchResult)
	if !ok {
		return nil
	}
	for _, r := range batch.VolumeResults {
		if f := r.GetCnsVolumeOperationResult().Fault; f != nil {
			return resultError(f)
		}
	}
	return nil
}

func resultError(f *types.LocalizedMethodFault) error {
	err := soap.WrapVimFault(f.Fault)
	if f.LocalizedMessage != "" {
		return fmt.Errorf("%s: %w", f.LocalizedMessage, err)
	}
	return err
}

// Find returns the volume that a request names, by claim, PersistentVolume or id.
func Find(rows []api.Volume, name string) (api.Volume, error) {
	var found []api.Volume
	var names []string
	for _, v := range rows {
		_, claim, _ := strings.Cut(v.Claim, "/")
		switch name {
		case v.Name, v.Handle, v.Claim, v.CNSName:
			return v, nil
		case claim:
			found = append(found, v)
		}
		names = append(names, v.Name, v.Claim, claim)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		message := fmt.Sprintf("volume %q not found", name)
		if near := nearest.Of(name, names); near != "" {
			message += fmt.Sprintf("; did you mean %q?", near)
		}
		return api.Volume{}, &api.Error{Code: "not-found", Message: message, Try: "vsphere-sandbox get volumes"}
	}
	claims := make([]string, len(found))
	for i, v := range found {
		claims[i] = v.Claim
	}
	return api.Volume{}, &api.Error{
		Code: "ambiguous", Message: fmt.Sprintf("volume %q: there are %d: %s", name, len(found), strings.Join(claims, ", ")), Try: "name its namespace, too",
	}
}
