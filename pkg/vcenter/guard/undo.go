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

// undo is what takes a write back: what the VM is like now, said in full, so that of several writes to the same thing the
// oldest one's is all that it takes.
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

// aspect is what of a VM an undo is about: of several about the same, the oldest says what there was at first.
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

// Intent is what a request is going to do. [Intent.Request] is the request that does it.
type Intent struct {
	// Method is what messages call it: a method of SOAP, or method, path and action.
	Method string
	// Operation is the method of SOAP that it calls; empty for others.
	Operation string
	// This is the object that a method of SOAP is called on; zero for others.
	This types.ManagedObjectReference
	// Write says that it changes something.
	Write bool
	// VM is the one that it changes, Do what is done to it; both are zero for a write that is not among those that can be
	// let through.
	VM types.ManagedObjectReference
	Do journal.Action

	// What is sent on.
	query       query
	body        []byte
	contentType string
}

// Look says what a request is going to do; body is all of it. A request that is not known is an error, and has to be refused:
// what reads, and what writes and can be taken back, is on lists of paths, methods and types. The method of SOAP is the one in
// the body, whatever a header says.
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
