package safety

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
)

// revoked takes from the CCM's account everything that it may see: its view loses all VMs, and searches find nothing.
func revoked(t *testing.T, w *world) func() {
	ctx, m, root, held := permission(t, w)
	if err := m.RemoveEntityPermission(ctx, root, held.Principal, false); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := m.SetEntityPermissions(ctx, root, []types.Permission{held}); err != nil {
			t.Fatal(err)
		}
	}
}

// hidden takes from the account what is below the datacenters: these are there and can be read, and there is no VM in them
// (kubernetes-sigs/vsphere-csi-driver#2475).
func hidden(t *testing.T, w *world) func() {
	ctx, m, root, held := permission(t, w)
	datacenters, err := find.NewFinder(w.Operator(broken).Client).DatacenterList(ctx, "*")
	if err != nil {
		t.Fatal(err)
	}
	here := held
	here.Propagate = false
	for _, dc := range datacenters {
		if err := m.SetEntityPermissions(ctx, dc.Reference(), []types.Permission{here}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.SetEntityPermissions(ctx, root, []types.Permission{here}); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := m.SetEntityPermissions(ctx, root, []types.Permission{held}); err != nil {
			t.Fatal(err)
		}
		for _, dc := range datacenters {
			if err := m.RemoveEntityPermission(ctx, dc.Reference(), held.Principal, false); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// permission is what the CCM's account holds at the root folder.
func permission(t *testing.T, w *world) (context.Context, *object.AuthorizationManager, types.ManagedObjectReference, types.Permission) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	client := w.Operator(broken).Client
	m, root := object.NewAuthorizationManager(client), client.ServiceContent.RootFolder
	name, _, _ := strings.Cut(w.Account(broken).Name, "@") // vCenters give it back as DOMAIN\name
	held, err := m.RetrieveEntityPermissions(ctx, root, false)
	if err != nil {
		t.Fatal(err)
	}
	held = slices.DeleteFunc(held, func(p types.Permission) bool { return !strings.HasSuffix(p.Principal, `\`+name) })
	if len(held) != 1 {
		t.Fatalf("account %s has %d permissions at the root", name, len(held))
	}
	return ctx, m, root, held[0]
}
