package inventory_test

import (
	"context"
	"errors"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// ConfirmRemoved queries only the location's vCenter and only for the reference: it returns nil only for a VM that no longer exists.
func TestConfirmRemoved(t *testing.T) {
	w := start(t, nil, func(v *vcenter.Credentials) { v.User, v.Password = "cpi@vsphere.local", "secret of cpi" })
	if err := w.ConfirmRemoved(t.Context(), inventory.Location{VCenter: "x", VM: "vm-1"}, uuid(t, w1UUID)); !errors.Is(err, vcenter.ErrNotConnected) && !errors.Is(err, inventory.ErrNotSynced) && !errors.Is(err, inventory.ErrNotConfigured) {
		t.Errorf("before it is in sync: %v", err)
	}
	w.synced(t)
	u := uuid(t, w1UUID)
	vm, err := w.ByUUID(u).One()
	if err != nil {
		t.Fatal(err)
	}
	at, err := w.Locate(vm)
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []*inventory.VM{{VCenter: "nowhere"}} {
		if at, err := w.Locate(other); !errors.Is(err, inventory.ErrNotConfigured) {
			t.Errorf("%v, %v", at, err)
		}
	}
	expect := func(what string, at inventory.Location, u match.UUID, want ...error) {
		t.Helper()
		err := w.ConfirmRemoved(t.Context(), at, u)
		if (err == nil) != (len(want) == 0) {
			t.Errorf("%s: %v", what, err)
		}
		for _, want := range want {
			if !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
		}
	}
	expect("there", at, u, inventory.ErrStillThere)
	expect("there, by the other byte order", at, u.Swapped(), inventory.ErrStillThere)
	if err := w.ConfirmRemoved(t.Context(), at, u); errors.Is(err, inventory.ErrUUIDChanged) {
		t.Errorf("the same uuid: %v", err)
	}
	expect("there with another uuid", at, uuid(t, strange), inventory.ErrStillThere, inventory.ErrUUIDChanged)
	expect("a reference that never was", inventory.Location{VCenter: at.VCenter, VM: "vm-999999"}, u)
	expect("a reference of something else", inventory.Location{VCenter: at.VCenter, VM: "group-d1"}, u)
	expect("another vcenter's", inventory.Location{VCenter: strange, VM: at.VM}, u, inventory.ErrNotConfigured)

	const noAccess = -5
	admin := w.admin(t, "us")
	found, err := find.NewFinder(admin).VirtualMachine(t.Context(), "/americas/west/vm/w1")
	if err != nil {
		t.Fatal(err)
	}
	m := object.NewAuthorizationManager(admin)
	hidden := types.Permission{Principal: "cpi@vsphere.local", RoleId: noAccess, Propagate: true}
	if err := m.SetEntityPermissions(t.Context(), found.Reference(), []types.Permission{hidden}); err != nil {
		t.Fatal(err)
	}
	if err := w.ConfirmRemoved(t.Context(), at, u); err == nil || errors.Is(err, inventory.ErrStillThere) {
		t.Errorf("hidden: %v", err)
	}
	if err := m.RemoveEntityPermission(t.Context(), found.Reference(), "cpi@vsphere.local", false); err != nil {
		t.Fatal(err)
	}
	w.do(t, "us", "/americas/west/vm/w1", (*object.VirtualMachine).PowerOff, (*object.VirtualMachine).Destroy)
	expect("gone", at, u)

	// An unreachable vCenter may be the one of the location.
	w.gate(t, "eu", gate.Down)
	eventually(t, "the outage is noticed", func() error {
		err := w.ConfirmRemoved(t.Context(), inventory.Location{VCenter: strange, VM: "vm-1"}, u)
		if errors.Is(err, inventory.ErrNotConfigured) {
			return err
		}
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.ConfirmRemoved(ctx, at, u); err == nil {
		t.Error("removed, by a question that was not asked")
	}
}
