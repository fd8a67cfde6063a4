package inventory_test

import (
	"errors"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// A read-only account gets everything, including events about tags.
func TestReadOnlyAccount(t *testing.T) {
	w := start(t, func(w *world, cfg *inventory.Config) { cfg.TagMissInterval = 0 }, func(v *vcenter.Credentials) {
		v.User, v.Password = "cpi@vsphere.local", "secret of cpi"
	})
	w.synced(t)
	eventually(t, "events are followed", func() error {
		if s := w.Status(); !s[0].TagEvents || !s[1].TagEvents {
			return errors.New("not yet")
		}
		return nil
	})
	m := w.tagger(t, "us")
	id, err := m.CreateTag(t.Context(), &tags.Tag{Name: "us-east", CategoryID: "k8s-zone"})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.AttachTag(t.Context(), id, w.datacenter(t, "us", "/americas/east")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the tag", w.zoneOf("e1", inventory.Zone{Region: "us", Zone: "us-east"}))
}

// An account that sees datacenters but not their content confirms no absence.
func TestConfirmFolderHidden(t *testing.T) {
	w := start(t, nil, func(v *vcenter.Credentials) { v.User, v.Password = "cpi@vsphere.local", "secret of cpi" })
	w.synced(t)
	if err := w.ConfirmAbsent(t.Context(), uuid(t, strange)); err != nil {
		t.Fatal(err)
	}
	folders, err := w.datacenter(t, "us", "/americas/west").Folders(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const noAccess = -5
	err = object.NewAuthorizationManager(w.admin(t, "us")).SetEntityPermissions(t.Context(), folders.VmFolder.Reference(), []types.Permission{
		{Principal: "cpi@vsphere.local", RoleId: noAccess, Propagate: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.ConfirmAbsent(t.Context(), uuid(t, strange)); err == nil || errors.Is(err, inventory.ErrStillThere) || inventory.OnlyUnseen(err) {
		t.Errorf("got %v", err)
	}
}
