package provider

import (
	"errors"
	"strings"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	corev1 "k8s.io/api/core/v1"
)

// An account that loses its permission on a datacenter gets empty search results, and its watch reports that the VMs left. No node
// is deleted because of that (kubernetes-sigs/vsphere-csi-driver#2475, kubernetes/cloud-provider-vsphere#665).
func TestPermissionLost(t *testing.T) {
	const ccm = "ccm@vsphere.local"
	allowed := strings.NewReplacer(
		"    - name: us\n", "    - name: us\n      users: [{name: "+ccm+", password: s3cret}]\n",
		"          region: us\n", "          permissions: [{user: "+ccm+", role: ReadOnly}]\n          region: us\n",
	).Replace(zones)
	for name, tenants := range map[string]map[string]string{
		"datacenters configured": {"us": ", datacenters: [west]"},
		"all datacenters":        nil,
	} {
		t.Run(name, func(t *testing.T) {
			w := startWith(t, setup{topology: allowed, tenants: tenants, secret: func(s *corev1.Secret) {
				s.Data["127.0.0.1.username"], s.Data["127.0.0.1.PASSWORD"] = []byte(ccm), []byte("s3cret")
			}})
			n := node("w1", "vsphere://"+w1UUID, w1UUID)
			if exists, err := w.InstanceExists(t.Context(), n); !exists || err != nil {
				t.Fatalf("exists %v, %v", exists, err)
			}
			boss := w.sim.Client("us")
			west, err := find.NewFinder(boss.Client).Datacenter(t.Context(), "/west")
			if err != nil {
				t.Fatal(err)
			}
			if err := object.NewAuthorizationManager(boss.Client).RemoveEntityPermission(t.Context(), west.Reference(), ccm, false); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the VM is out of sight", func() error {
				exists, err := w.InstanceExists(t.Context(), n)
				switch {
				case exists && err == nil:
					return errors.New("exists")
				case err == nil:
					t.Fatal("gone")
				}
				return nil
			})
			for range 20 {
				if exists, err := w.InstanceExists(t.Context(), n); !exists && err == nil {
					t.Fatal("gone")
				}
			}
			w.expectEvent(t, "w1", ReasonDeletionHeldBack)
		})
	}
}
