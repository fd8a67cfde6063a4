package provider

import (
	"fmt"
	"testing"

	"github.com/vmware/govmomi/object"
	corev1 "k8s.io/api/core/v1"
)

const tenants = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: test}
spec:
  vcenters:
    - name: vc
      users:
        - {name: be@vsphere.local, password: Be-12345}
        - {name: ux@vsphere.local, password: Ux-12345}
      permissions:
        - {user: be@vsphere.local, role: ReadOnly, propagate: no}
        - {user: ux@vsphere.local, role: ReadOnly, propagate: no}
      datacenters:
        - name: dc-be
          permissions: [{user: be@vsphere.local, role: ReadOnly}]
          clusters: [{name: c, hosts: [{name: esx-a}]}]
          vms: [{name: be1, hostname: be1, uuid: ` + w1UUID + `}]
        - name: dc-ux
          permissions: [{user: ux@vsphere.local, role: ReadOnly}]
          clusters: [{name: c, hosts: [{name: esx-b}]}]
          vms: [{name: ux1, hostname: ux1, uuid: ` + u1UUID + `}]
    - name: other
      datacenters: [{name: dc, hosts: [{name: h}]}]
`

// twoAccounts are two connections to the first vCenter.
func twoAccounts(be, ux string) func(*world) string {
	return func(w *world) string {
		v := w.sim.VCenters()[0]
		return fmt.Sprintf("  be: {server: %s, port: %d, %s}\n  ux: {server: %s, port: %d, %s}\n", v.Host(), v.Port(), be, v.Host(), v.Port(), ux)
	}
}

// Two connections to one vCenter, each with an account that sees one datacenter, are what they say: nodes of both are found,
// a VM that is gone is reported gone although each account sees only a part, and the state is that of the section.
// (kubernetes/cloud-provider-vsphere#233, #241; findings A3)
func TestTwoAccounts(t *testing.T) {
	const be, ux = "user: be@vsphere.local, password: Be-12345", "user: ux@vsphere.local, password: Ux-12345"
	for name, tc := range map[string]struct {
		sections func(*world) string
		secret   func(*corev1.Secret)
	}{
		"in the file":         {sections: twoAccounts(be+", datacenters: [dc-be]", ux+", datacenters: [dc-ux]")},
		"without datacenters": {sections: twoAccounts(be, ux)},
		"in one Secret by section": {
			sections: twoAccounts("datacenters: [dc-be]", "datacenters: [dc-ux]"),
			secret: func(s *corev1.Secret) {
				s.Data = map[string][]byte{
					"be.username": []byte("be@vsphere.local"), "be.password": []byte("Be-12345"),
					"ux.username": []byte("ux@vsphere.local"), "ux.password": []byte("Ux-12345"),
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := startWith(t, setup{topology: tenants, sections: tc.sections, secret: tc.secret})
			eventually(t, "both are in sync", w.synced)
			both := map[string]*corev1.Node{"be": node("be1", "vsphere://"+w1UUID, w1UUID), "ux": node("ux1", "vsphere://"+u1UUID, u1UUID)}
			for section, n := range both {
				vm, err := w.now().instances().find(n)
				if err != nil || vm.VCenter != section {
					t.Fatalf("%s: %v, %v", section, vm, err)
				}
				if exists, err := w.InstanceExists(t.Context(), n); !exists || err != nil {
					t.Fatalf("%s: exists %v, %v", section, exists, err)
				}
			}
			w.do(t, "/dc-be/vm/be1", (*object.VirtualMachine).PowerOff, (*object.VirtualMachine).Destroy)
			eventually(t, "be1 is gone", func() error {
				if exists, err := w.InstanceExists(t.Context(), both["be"]); exists || err != nil {
					return fmt.Errorf("exists %v, %w", exists, err)
				}
				return nil
			})
			if exists, err := w.InstanceExists(t.Context(), both["ux"]); !exists || err != nil {
				t.Errorf("ux1: exists %v, %v", exists, err)
			}
		})
	}
}

// A VM that two connections to one vCenter show is one VM, not two of the same UUID.
func TestOneVMTwice(t *testing.T) {
	w := startWith(t, setup{topology: tenants, sections: func(w *world) string {
		v := w.sim.VCenters()[0]
		return fmt.Sprintf("  a: {server: %[1]s, port: %[2]d}\n  b: {server: %[1]s, port: %[2]d, datacenters: [dc-be, dc-ux]}\n", v.Host(), v.Port())
	}})
	for name, n := range map[string]*corev1.Node{
		"providerID": node("be1", "vsphere://"+w1UUID, ""), "UUID": node("be1", "", w1UUID), "hostname": node("be1", "", ""),
	} {
		vm, err := w.now().instances().find(n)
		if err != nil || vm.VCenter != "a" {
			t.Errorf("%s: %v, %v", name, vm, err)
		}
	}
	w.do(t, "/dc-be/vm/be1", (*object.VirtualMachine).PowerOff)
	n := node("be1", "vsphere://"+w1UUID, w1UUID)
	eventually(t, "be1 is off", func() error {
		if off, err := w.InstanceShutdown(t.Context(), n); !off || err != nil {
			return fmt.Errorf("off %v, %w", off, err)
		}
		return nil
	})
	w.do(t, "/dc-be/vm/be1", (*object.VirtualMachine).Destroy)
	eventually(t, "be1 is gone", func() error {
		if exists, err := w.InstanceExists(t.Context(), n); exists || err != nil {
			return fmt.Errorf("exists %v, %w", exists, err)
		}
		return nil
	})
}

// An account that is refused does not hold up the nodes of the other one, and keeps every node from being reported gone.
func TestOneAccountRefused(t *testing.T) {
	w := startWith(t, setup{
		topology: tenants, sections: twoAccounts("user: be@vsphere.local, password: Be-12345", "user: ux@vsphere.local, password: wrong"),
		gates: func(*world) {},
	})
	eventually(t, "be is in sync", func() error {
		for _, s := range w.Health() {
			if s.Tenant == "be" && !s.Synced {
				return fmt.Errorf("%+v", s)
			}
		}
		return nil
	})
	n := node("be1", "", w1UUID)
	if m, err := w.InstanceMetadata(t.Context(), n); m == nil || m.ProviderID != "vsphere://"+w1UUID {
		t.Fatalf("%+v, %v", m, err)
	}
	n = node("be1", "vsphere://"+w1UUID, w1UUID)
	w.do(t, "/dc-be/vm/be1", (*object.VirtualMachine).PowerOff, (*object.VirtualMachine).Destroy)
	eventually(t, "the VM is out of sight", func() error {
		exists, err := w.InstanceExists(t.Context(), n)
		if exists {
			return fmt.Errorf("exists, %w", err)
		}
		if err == nil {
			t.Fatal("gone, although one account cannot be asked")
		}
		return nil
	})
	// The state of each section by its name.
	all := map[string]bool{}
	for _, s := range w.Health() {
		all[s.Tenant] = s.Connected
	}
	if !all["be"] || all["ux"] || len(all) != 2 {
		t.Errorf("%v", all)
	}
}
