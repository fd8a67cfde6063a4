package scope_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/journal"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/scope"
)

func TestAllows(t *testing.T) {
	vm := inventory.VM{Path: "/west/vm/k8s/test/a", Folder: "k8s/test", Tags: []inventory.Tag{{Category: "env", Name: "lab"}}}
	for _, tc := range []struct {
		name string
		s    scope.Scope
		want string // part of the refusal; empty where it is allowed
	}{
		{"nothing said", scope.Scope{}, "writes are not allowed"},
		{"only a folder", scope.Scope{Folders: []string{"k8s"}}, "writes are not allowed"},
		{"only allowed", scope.Scope{AllowWrites: true}, "name a folder or a tag"},
		{"folder", scope.Scope{AllowWrites: true, Folders: []string{"k8s/test"}}, ""},
		{"folder around", scope.Scope{AllowWrites: true, Folders: []string{"k8s/"}}, ""},
		{"inventory path", scope.Scope{AllowWrites: true, Folders: []string{"/west/vm/k8s"}}, ""},
		{"datacenter's folder", scope.Scope{AllowWrites: true, Folders: []string{"/west/vm"}}, ""},
		{"half a name", scope.Scope{AllowWrites: true, Folders: []string{"k8s/te", "/west/vm/k8"}}, "in none of the folders"},
		{"the VM is no folder", scope.Scope{AllowWrites: true, Folders: []string{"/west/vm/k8s/test/a"}}, "in none of the folders"},
		{"other datacenter", scope.Scope{AllowWrites: true, Folders: []string{"/east/vm/k8s"}}, "in none of the folders"},
		{"everything", scope.Scope{AllowWrites: true, Folders: []string{"/"}}, "is empty"},
		{"tag", scope.Scope{AllowWrites: true, Tags: []string{"env:lab"}}, ""},
		{"other tag", scope.Scope{AllowWrites: true, Tags: []string{"env:prod"}}, "none of the tags"},
		{"no tag", scope.Scope{AllowWrites: true, Tags: []string{"env"}}, "category:name"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.s.CheckVM(vm)
			if tc.want == "" && err != nil || tc.want != "" && (!errors.Is(err, scope.ErrRefused) || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestPower powers VMs off under guard, and has them on again.
func TestPower(t *testing.T) {
	config, err := vcenter.LoadFile(sim.Start(t, "../testdata/zones.yaml").CloudConfigFile())
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.VCenters[0].Connect(t.Context(), vcenter.Options{UserAgent: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	j, err := journal.Open(filepath.Join(t.TempDir(), "j"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	off, on := journal.Action{Kind: "power-off"}, journal.Action{Kind: "power-on"}
	apply := func(ctx context.Context, e journal.Entry, a journal.Action) error {
		return c.Do(ctx, func(ctx context.Context, vim *vim25.Client) error {
			vm := object.NewVirtualMachine(vim, e.Ref)
			run := vm.PowerOn
			if a.Kind == off.Kind {
				run = vm.PowerOff
			}
			task, err := run(ctx)
			if err == nil {
				err = task.Wait(ctx)
			}
			return err
		})
	}
	powers := func() map[string]string {
		inv, err := inventory.Read(t.Context(), c, inventory.Selection{}, inventory.Categories{})
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		for _, vm := range inv.VMs {
			all[vm.Name] = vm.Power
		}
		return all
	}
	inv, err := inventory.Read(t.Context(), c, inventory.Selection{Names: []string{"worker-*"}}, inventory.Categories{})
	if err != nil {
		t.Fatal(err)
	}
	g := scope.Guard{Scope: scope.Scope{AllowWrites: true, Tags: []string{"env:prod"}}, Journal: j}
	refused := 0
	for _, vm := range inv.VMs {
		err := g.Write(t.Context(), vm, off, on, func(ctx context.Context) error {
			return apply(ctx, journal.Entry{Ref: vm.Ref}, off)
		})
		if errors.Is(err, scope.ErrRefused) {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	got := powers()
	if refused != 2 || got["worker-1"] != "poweredOff" || got["worker-2"] != "poweredOff" || got["worker-9"] != "poweredOn" || got["worker-3"] != "poweredOn" {
		t.Errorf("%d refused, %v", refused, got)
	}
	for _, e := range j.Pending() {
		is := func(vm inventory.VM) bool {
			return vm.Ref == e.Ref && vm.Path == e.VM && vm.InstanceUUID == e.InstanceUUID
		}
		if e.InstanceUUID == "" || !slices.ContainsFunc(inv.VMs, is) {
			t.Errorf("the journal does not tell which VM it was: %+v", e)
		}
	}
	err = j.Revert(t.Context(), func(ctx context.Context, e journal.Entry) error { return apply(ctx, e, e.Undo) })
	if got := powers(); err != nil || got["worker-1"] != "poweredOn" || got["worker-2"] != "poweredOn" {
		t.Errorf("%v, %v", got, err)
	}
}
