package inventory_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// changeLog is an update with properties of a VM.
func changeLog(kind vcenter.Kind, ref types.ManagedObjectReference, values map[string]any) vcenter.Update {
	u := vcenter.Update{Kind: kind, Ref: ref}
	for path, val := range values {
		u.Changes = append(u.Changes, types.PropertyChange{Name: path, Val: val})
	}
	return u
}

// A VM that has become unreadable keeps its UUID: others are confirmed gone, but not this one, although no search finds it
// (kubernetes/cloud-provider-vsphere#642).
func TestConfirmBesidesUnreadable(t *testing.T) {
	w := start(t, nil)
	w.synced(t)
	// The VM exists with another UUID: searches for the old UUID find nothing, but the reference resolves.
	w2, err := w.ByHostName("w2").One()
	if err != nil {
		t.Fatal(err)
	}
	lost, gone := uuid(t, "aaaaaaaa-1c2d-4e5f-8071-92a3b4c5d6e7"), uuid(t, strange)
	w.Feed("us", changeLog(vcenter.Leave, w2.Ref, nil), changeLog(vcenter.Enter, w2.Ref, map[string]any{"name": "w2", "summary.config.uuid": lost.String()}))
	unreadable := map[string]any{
		"summary.config.uuid": "", "runtime.connectionState": types.VirtualMachineConnectionStateInaccessible,
	}
	for _, step := range []struct {
		name   string
		update vcenter.Update
	}{
		{"unreadable", changeLog(vcenter.Modify, w2.Ref, unreadable)},
		{"still unreadable in a new watch", changeLog(vcenter.Enter, w2.Ref, unreadable)},
		{"out of the watch", changeLog(vcenter.Leave, w2.Ref, nil)},
	} {
		w.Feed("us", step.update)
		if err := w.ConfirmAbsent(t.Context(), gone); err != nil {
			t.Errorf("%s: another VM: %v", step.name, err)
		}
		for _, u := range []match.UUID{lost, lost.Swapped()} {
			if err := w.ConfirmAbsent(t.Context(), u); !errors.Is(err, inventory.ErrStillThere) {
				t.Errorf("%s: itself: %v", step.name, err)
			}
		}
	}
	// After the VM is destroyed, its reference confirms that (kubernetes/cloud-provider-vsphere#680).
	w.do(t, "us", "/americas/west/vm/w2", (*object.VirtualMachine).PowerOff, (*object.VirtualMachine).Destroy)
	eventually(t, "confirmed", func() error { return absent(w.ConfirmAbsent(t.Context(), lost)) })
}

// After a restart, the UUID of a VM that reports none is unknown: no VM is confirmed gone, and the error gives the reason.
func TestConfirmAfterRestart(t *testing.T) {
	w := start(t, nil)
	w.synced(t)
	ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-lost"}
	w.Feed("us", changeLog(vcenter.Enter, ref, map[string]any{
		"name": "lost", "runtime.connectionState": types.VirtualMachineConnectionStateInaccessible,
	}))
	err := w.ConfirmAbsent(t.Context(), uuid(t, strange))
	if err == nil || errors.Is(err, inventory.ErrStillThere) || !inventory.OnlyUnseen(err) {
		t.Errorf("got %v", err)
	}
	if s := w.Status()[0]; s.Unidentified != 1 {
		t.Errorf("status %+v", s)
	}
}

// A VM that was created again under its old name is a different one.
func TestRecreated(t *testing.T) {
	w := start(t, nil)
	w.synced(t)
	old, err := w.ByUUID(uuid(t, w1UUID)).One()
	if err != nil {
		t.Fatal(err)
	}
	w.do(t, "us", "/americas/west/vm/w1", (*object.VirtualMachine).PowerOff, (*object.VirtualMachine).Destroy)
	admin := w.admin(t, "us")
	folder := object.NewFolder(admin, old.Parent)
	pool := object.NewResourcePool(admin, old.ResourcePool)
	ds, err := find.NewFinder(admin).DatastoreList(t.Context(), "/americas/west/datastore/*")
	if err != nil {
		t.Fatal(err)
	}
	task, err := folder.CreateVM(t.Context(), types.VirtualMachineConfigSpec{
		Name: "w1", GuestId: "ubuntu64Guest", Uuid: "bbbbbbbb-1c2d-4e5f-8071-92a3b4c5d6e7",
		Files: &types.VirtualMachineFileInfo{VmPathName: "[" + ds[0].Name() + "]"},
	}, pool, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new one", func() error {
		vm, err := w.ByUUID(uuid(t, "bbbbbbbb-1c2d-4e5f-8071-92a3b4c5d6e7")).One()
		if err == nil && (vm.Name != "w1" || vm.Ref == old.Ref) {
			t.Errorf("got %v", vm)
		}
		return err
	})
	eventually(t, "the old one gone", func() error { return absent(w.ConfirmAbsent(t.Context(), uuid(t, w1UUID))) })
}

// A VM with a changed UUID still exists for the old UUID, until it is destroyed.
func TestConfirmUUIDChanged(t *testing.T) {
	w := start(t, nil)
	w.synced(t)
	w2, err := w.ByHostName("w2").One()
	if err != nil {
		t.Fatal(err)
	}
	w.do(t, "us", "/americas/west/vm/w2", func(vm *object.VirtualMachine, ctx context.Context) (*object.Task, error) {
		return vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{Uuid: "cccccccc-1c2d-4e5f-8071-92a3b4c5d6e7"})
	})
	eventually(t, "the new uuid", func() error {
		_, err := w.ByUUID(uuid(t, "cccccccc-1c2d-4e5f-8071-92a3b4c5d6e7")).One()
		return err
	})
	if err := w.ConfirmAbsent(t.Context(), w2.UUID); !errors.Is(err, inventory.ErrStillThere) {
		t.Errorf("got %v", err)
	}
	w.do(t, "us", "/americas/west/vm/w2", (*object.VirtualMachine).PowerOff, (*object.VirtualMachine).Destroy)
	eventually(t, "confirmed", func() error { return absent(w.ConfirmAbsent(t.Context(), w2.UUID)) })
}

// A VM that moves from a vCenter that has not been queried to one that has is found by the second search.
func TestConfirmMoving(t *testing.T) {
	w := start(t, nil)
	w.synced(t)
	u := uuid(t, w1UUID)
	w.do(t, "us", "/americas/west/vm/w1", (*object.VirtualMachine).PowerOff)
	eventually(t, "off", func() error {
		if vm, err := w.ByUUID(u).One(); err != nil || vm.Power != types.VirtualMachinePowerStatePoweredOff {
			return fmt.Errorf("%v, %w", vm, err)
		}
		return nil
	})
	_, err := w.vcenter(t, "us").Gate().Add(gate.Rule{
		Match:  gate.Match{Client: "inventory-test", Methods: []string{"RetrieveProperties", "RetrievePropertiesEx"}},
		Action: gate.Latency{Delay: 2 * time.Second}, Count: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	asked := func() (n int64) {
		for _, s := range w.vcenter(t, "eu").Gate().Stats() {
			if s.Method == "FindByUuid" {
				n += s.Calls
			}
		}
		return n
	}
	answer := make(chan error, 1)
	go func() { answer <- w.ConfirmAbsent(t.Context(), u) }()
	eventually(t, "eu is asked", func() error {
		if asked() < 2 {
			return errors.New("not yet")
		}
		return nil
	})
	eu := w.admin(t, "eu")
	vms, err := find.NewFinder(eu).VirtualMachineList(t.Context(), "/dc/vm/*")
	if err != nil {
		t.Fatal(err)
	}
	task, err := vms[0].Reconfigure(t.Context(), types.VirtualMachineConfigSpec{Uuid: u.String()})
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.do(t, "us", "/americas/west/vm/w1", (*object.VirtualMachine).Destroy)
	select {
	case err := <-answer:
		t.Fatalf("too late: %v", err)
	default:
	}
	if err := <-answer; !errors.Is(err, inventory.ErrStillThere) {
		t.Errorf("got %v", err)
	}
}

// Without a UUID no absence is confirmed.
func TestConfirmNoUUID(t *testing.T) {
	w := start(t, nil)
	w.synced(t)
	if err := w.ConfirmAbsent(t.Context(), match.UUID{}); err == nil {
		t.Error("confirmed")
	}
}
