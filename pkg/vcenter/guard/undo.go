package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
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

// Look returns the intent of a request; body is the complete body. An unknown request is an error, and must be refused: lists of
// paths, methods and types define what reads, and which writes can be reverted. The SOAP method is the one in the body, not in a
// header.
func Look(r *http.Request, body []byte) (Intent, error) {
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
