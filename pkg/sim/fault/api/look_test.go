package api

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"testing"

	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/faulttest"
)

// handshake is the thumbprint of the certificate that vCenter us shows.
func handshake(t *testing.T, w *faulttest.World) string {
	t.Helper()
	v, _ := w.VCenter("us")
	conn, err := tls.Dial("tcp", v.Addr(), &tls.Config{InsecureSkipVerify: true}) // only its certificate matters
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sum := sha256.Sum256(conn.ConnectionState().PeerCertificates[0].Raw)
	return hex.EncodeToString(sum[:])
}

// blinds has the administrator of vCenter us not find what is there.
func blinds(t *testing.T, w *faulttest.World) func(*testing.T) {
	c := logged(t, w, "us", agentCCM)
	index := object.NewSearchIndex(c.Client.Client)
	const path = "/dcus/vm/worker-us-1"
	vm, err := index.FindByInventoryPath(t.Context(), path)
	if err != nil || vm == nil {
		t.Fatalf("before: %v, %v", vm, err)
	}
	permissions := func() int {
		ctx := context.WithoutCancel(t.Context()) // of the test, which may be over
		list, err := object.NewAuthorizationManager(c.Client.Client).RetrieveAllPermissions(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	before := permissions()
	t.Cleanup(func() {
		if n := permissions(); n != before {
			t.Errorf("%d permissions, were %d", n, before)
		}
	})
	return func(t *testing.T) {
		if found, err := index.FindByInventoryPath(t.Context(), path); found != nil || err != nil {
			t.Errorf("the search has %v, %v", found, err)
		}
		var name []types.ObjectContent
		err := property.DefaultCollector(c.Client.Client).Retrieve(t.Context(), []types.ManagedObjectReference{vm.Reference()}, []string{"name"}, &name)
		if !vimfault.Is(err, &types.NoPermission{}) && !vimfault.Is(err, &types.ManagedObjectNotFound{}) {
			t.Errorf("by its reference: %v", err)
		}
	}
}

// truncates watches the VMs of vCenter us.
func truncates(t *testing.T, w *faulttest.World) func(*testing.T) {
	c := logged(t, w, "us", agentCCM)
	updates := func() (objects int, truncated bool) {
		v, err := view.NewManager(c.Client.Client).CreateContainerView(t.Context(), c.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
		if err != nil {
			t.Fatal(err)
		}
		pc, err := property.DefaultCollector(c.Client.Client).Create(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = pc.Destroy(t.Context()) }()
		filter := new(property.WaitFilter).Add(v.Reference(), "VirtualMachine", []string{"name"}, v.TraversalSpec())
		if _, err := pc.CreateFilter(t.Context(), filter.CreateFilter); err != nil {
			t.Fatal(err)
		}
		res, err := methods.WaitForUpdatesEx(t.Context(), c.Client.Client, &types.WaitForUpdatesEx{This: pc.Reference()})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range res.Returnval.FilterSet {
			objects += len(f.ObjectSet)
		}
		return objects, res.Returnval.Truncated != nil && *res.Returnval.Truncated
	}
	if n, truncated := updates(); n != 2 || truncated {
		t.Fatalf("before: %d objects, truncated %v", n, truncated)
	}
	return func(t *testing.T) {
		if n, truncated := updates(); n != 1 || !truncated {
			t.Errorf("%d objects, truncated %v", n, truncated)
		}
	}
}
