package front_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/guard"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/scope"
)

// do waits for a task.
func do(t *testing.T) func(*object.Task, error) error {
	return func(task *object.Task, err error) error {
		if err != nil {
			return err
		}
		return task.Wait(t.Context())
	}
}

// TestRefused tries to write in many ways, read-only and outside the scope, and finds the vCenter as it was.
func TestRefused(t *testing.T) {
	for _, tc := range []struct {
		name  string
		scope scope.Scope
		want  string
	}{
		{"read-only", scope.Scope{}, "read-only"},
		{"elsewhere", scope.Scope{AllowWrites: true, Folders: []string{"k8s"}}, "refused"},
		{"no tag", scope.Scope{AllowWrites: true, Tags: []string{"env:test"}}, "refused"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := start(t, tc.scope)
			before := r.powers(t)
			c, rc := r.client(t, "writer")
			ctx, vm := t.Context(), vms(t, c.Client)[0]
			m := tags.NewManager(rc)
			writes := map[string]func() error{
				"power off": func() error { return do(t)(vm.PowerOff(ctx)) },
				"reset":     func() error { return do(t)(vm.Reset(ctx)) },
				"destroy":   func() error { return do(t)(vm.Destroy(ctx)) },
				"rename":    func() error { return do(t)(vm.Rename(ctx, "other")) },
				"reconfigure": func() error {
					return do(t)(vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{NumCPUs: 3}))
				},
				"unregister": func() error { return vm.Unregister(ctx) },
				"folder": func() error {
					_, err := object.NewRootFolder(c.Client).CreateFolder(ctx, "new")
					return err
				},
				"category": func() error {
					_, err := m.CreateCategory(ctx, &tags.Category{Name: "new", Cardinality: "SINGLE"})
					return err
				},
				"tag": func() error { return m.AttachTag(ctx, "urn:vmomi:InventoryServiceTag:x:GLOBAL", vm.Reference()) },
			}
			for name, write := range writes {
				err := write()
				if err == nil || !strings.Contains(err.Error(), "refused") && !strings.Contains(err.Error(), "403") {
					t.Errorf("%s: %v", name, err)
				}
				if name == "power off" && (!vimfault.Is(err, &types.NoPermission{}) || !strings.Contains(err.Error(), tc.want)) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if diff := cmp.Diff(before, r.powers(t)); diff != "" || len(r.journal.Pending()) > 0 {
				t.Errorf("%s, journal %v", diff, r.journal.Pending())
			}
		})
	}
}

// TestReverted writes what may be written, dies, and takes it back, interrupted once.
func TestReverted(t *testing.T) {
	r := start(t, scope.Scope{AllowWrites: true, Folders: []string{"/DC0/vm"}})
	before := r.powers(t)
	c, rc := r.client(t, "writer")
	ctx, all := t.Context(), vms(t, c.Client)
	for _, err := range []error{
		do(t)(all[0].PowerOff(ctx)), do(t)(all[0].PowerOn(ctx)), do(t)(all[0].Suspend(ctx)), do(t)(all[1].Reset(ctx)), do(t)(all[1].PowerOff(ctx)),
		do(t)(all[1].Rename(ctx, "renamed")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := do(t)(all[1].Destroy(ctx)); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("destroyed: %v", err)
	}
	tag := r.tag(t)
	if err := tags.NewManager(rc).AttachTag(ctx, tag, all[0].Reference()); err != nil {
		t.Fatal(err)
	}
	if len(r.journal.Pending()) != 7 {
		t.Fatalf("journal %+v", r.journal.Pending())
	}
	if err := r.journal.Close(); err != nil { // kill -9 leaves as much
		t.Fatal(err)
	}
	r.open(t)
	connections := map[string]*vcenter.Connection{"far": r.direct}
	if err := guard.Revert(ctx, r.journal, scope.Scope{AllowWrites: true, Folders: []string{"other"}}, connections); !errors.Is(err, scope.ErrRefused) {
		t.Errorf("another scope: %v", err)
	}
	interrupted, cancel := context.WithCancel(ctx)
	cancel()
	if err := guard.Revert(interrupted, r.journal, r.scope, connections); !errors.Is(err, context.Canceled) || len(r.journal.Pending()) < 6 {
		t.Errorf("interrupted: %v", err)
	}
	if err := guard.Revert(ctx, r.journal, r.scope, connections); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, r.powers(t)); diff != "" || len(r.journal.Pending()) > 0 {
		t.Errorf("%s, journal %v", diff, r.journal.Pending())
	}
	if on, err := tags.NewManager(rc).ListAttachedTags(ctx, all[0].Reference()); err != nil || len(on) > 0 {
		t.Errorf("tags %v, %v", on, err)
	}
}

// TestNotTheSameVM reverts nothing of a VM that has another identity by now.
func TestNotTheSameVM(t *testing.T) {
	r := start(t, scope.Scope{AllowWrites: true, Folders: []string{"/DC0/vm"}})
	c, _ := r.client(t, "writer")
	vm := vms(t, c.Client)[0]
	if err := do(t)(vm.PowerOff(t.Context())); err != nil {
		t.Fatal(err)
	}
	r.reidentify(t, vm.Reference())
	err := guard.Revert(t.Context(), r.journal, r.scope, map[string]*vcenter.Connection{"far": r.direct})
	if err == nil || !strings.Contains(err.Error(), "another VM") || r.powers(t)[vm.Name()] != "poweredOff" {
		t.Errorf("%v, %v", err, r.powers(t))
	}
}
