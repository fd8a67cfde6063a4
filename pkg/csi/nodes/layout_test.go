package nodes_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodes"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

func TestNode(t *testing.T) {
	r := start(t, world, nil).synced()
	tests := []struct{ name, id, node, vcenter, path string }{
		{"as it is", uuidA1, "a1", "us", "/west/vm/a1"},
		{"upper case", strings.ToUpper(uuidA2), "a2", "us", "/west/vm/a2"},
		{"byte order swapped", "00000142-2d1c-5f4e-8071-92a3b4c5d603", "b1", "us", "/west/vm/b1"},
		{"no dashes", strings.ReplaceAll(uuidE1, "-", ""), "e1", "eu", "/eu/vm/e1"},
		{"no node of the cluster", uuidN1, "", "us", "/bare/vm/n1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := r.Node(t.Context(), tt.id)
			if err != nil {
				t.Fatal(err)
			}
			want := volume.Node{ID: tt.id, Name: tt.node, VCenter: tt.vcenter, VM: r.element(tt.vcenter, tt.path).Value}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The nodes of one vCenter are known without the other; their ids are spelled as in Kubernetes.
func TestIn(t *testing.T) {
	r := start(t, world, nil).synced()
	names := func(vcenter string) (all []string, err error) {
		found, err := r.In(vcenter)
		for _, n := range found {
			all = append(all, n.Name+" "+n.ID+" "+n.VCenter)
		}
		return all, err
	}
	us := []string{"a1 " + uuidA1 + " us", "a2 " + uuidA2 + " us", "b1 " + uuidB1 + " us"}
	for vcenter, want := range map[string][]string{"us": us, "eu": {"e1 " + uuidE1 + " eu"}} {
		got, err := names(vcenter)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
	if _, err := names("asia"); !errors.Is(err, volume.ErrUnavailable) {
		t.Errorf("no such vcenter: %v", err)
	}
	for _, id := range []string{strings.ToUpper(uuidA1), uuidA1} {
		if _, err := r.Node(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if got, err := names("us"); err != nil || got[0] != "a1 "+id+" us" {
			t.Errorf("asked for as %s: %v, %v", id, got, err)
		}
	}
	r.gate("eu", gate.Down)
	eventually(t, "eu is missed", func() error {
		got, err := names("eu")
		if len(got) > 0 || !errors.Is(err, volume.ErrUnavailable) {
			return fmt.Errorf("%v %w", got, err)
		}
		return nil
	})
	got, err := names("us")
	if diff := cmp.Diff(us, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// A node is looked up without a call to any vCenter.
func TestNodeCosts(t *testing.T) {
	r := start(t, world, nil).synced()
	calls := func() (n int64) {
		for _, s := range r.vcenter("us").Gate().Stats() {
			if s.Method != "WaitForUpdatesEx" {
				n += s.Calls
			}
		}
		return n
	}
	// The inventory may make a call at the same time, once; lookups with calls would make one every time.
	eventually(t, "no calls", func() error {
		before := calls()
		for range 100 {
			if _, err := r.Node(t.Context(), uuidA1); err != nil {
				t.Fatal(err)
			}
		}
		if after := calls(); after != before {
			return fmt.Errorf("%d calls for 100 lookups", after-before)
		}
		return nil
	})
}

// A VM is reported gone only with a confirmation from all vCenters.
func TestNodeGone(t *testing.T) {
	r := start(t, world, nil).synced()
	const noCredentials = "42010000-1c2d-4e5f-8071-92a3b4c5d6ff"
	if _, err := r.Node(t.Context(), noCredentials); !errors.Is(err, volume.ErrNodeGone) {
		t.Errorf("nobody's id: %v", err)
	}
	if _, err := r.Node(t.Context(), "some-fake-node-id"); !errors.Is(err, volume.ErrNodeGone) {
		t.Errorf("no uuid: %v", err)
	}
	r.gate("eu", gate.Down)
	if _, err := r.Node(t.Context(), noCredentials); !errors.Is(err, volume.ErrUnavailable) || errors.Is(err, volume.ErrNodeGone) {
		t.Errorf("nobody's id with a vcenter down: %v", err)
	}
	if _, err := r.Node(t.Context(), uuidA1); err != nil {
		t.Errorf("node of the other vcenter: %v", err)
	}
	r.gate("eu", gate.Up)
	eventually(t, "back", func() error {
		if _, err := r.Node(t.Context(), noCredentials); !errors.Is(err, volume.ErrNodeGone) {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
}

// A destroyed VM is gone; one that was unregistered and registered again is a node again, with its new reference.
func TestNodeDestroyed(t *testing.T) {
	r := start(t, world, nil).synced()
	vm := object.NewVirtualMachine(r.lab.Client("eu").Client, r.element("eu", "/eu/vm/e1"))
	if task, err := vm.PowerOff(t.Context()); err == nil {
		_ = task.Wait(t.Context()) // it may be off
	}
	task, err := vm.Destroy(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "gone", func() error {
		if _, err := r.Node(t.Context(), uuidE1); !errors.Is(err, volume.ErrNodeGone) {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
}

// VMs outside the configured datacenters are not nodes, and not gone either.
func TestNodeOutside(t *testing.T) {
	r := start(t, world, func(_ *rig, cfg *nodes.Config) { cfg.VCenters[0].Datacenters = []string{"west"} })
	ctx := t.Context()
	r.synced()
	if _, err := r.Node(ctx, uuidA1); err != nil {
		t.Error(err)
	}
	if _, err := r.Node(ctx, uuidN1); !errors.Is(err, volume.ErrUnavailable) {
		t.Errorf("vm of another datacenter: %v", err)
	}
	if _, err := r.Node(ctx, "42010000-1c2d-4e5f-8071-92a3b4c5d6ff"); !errors.Is(err, volume.ErrNodeGone) {
		t.Errorf("nobody: %v", err)
	}
}
