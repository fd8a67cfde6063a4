package soak

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// power switches VMs on and off.
func power(ctx context.Context, k *worker) error {
	for !k.done() {
		vm := k.vm()
		for name, f := range map[string]func(context.Context) (*object.Task, error){
			"PowerOff": vm.PowerOff, "PowerOn": vm.PowerOn, "Suspend": vm.Suspend, "Reset": vm.Reset,
		} {
			if err := k.task(ctx, name, f); err != nil {
				return err
			}
		}
		if err := k.over("ShutdownGuest", vm.ShutdownGuest(ctx)); err != nil {
			return err
		}
		if err := k.task(ctx, "PowerOn", vm.PowerOn); err != nil {
			return err
		}
		host := k.hosts[k.random.IntN(len(k.hosts))]
		if err := k.task(ctx, "Relocate", func(ctx context.Context) (*object.Task, error) {
			return vm.Relocate(ctx, types.VirtualMachineRelocateSpec{Host: &host}, "")
		}); err != nil {
			return err
		}
	}
	return nil
}

// create makes VMs and takes them away, with snapshots in between.
func create(ctx context.Context, k *worker) error {
	finder := find.NewFinder(k.client)
	folder, err := finder.Folder(ctx, "/dc/vm")
	if err != nil {
		return err
	}
	pool, err := finder.ResourcePool(ctx, "/dc/host/c/Resources/pool")
	if err != nil {
		return err
	}
	left, err := finder.VirtualMachineList(ctx, "/dc/vm/made-"+k.name+"-*") // of a session that was ended
	if _, none := err.(*find.NotFoundError); err != nil && !none {
		return err
	}
	for _, vm := range left {
		if err := k.task(ctx, "Destroy", vm.Destroy); err != nil {
			return err
		}
	}
	for n := 0; !k.done(); n++ {
		host := object.NewHostSystem(k.client, k.hosts[k.random.IntN(len(k.hosts))])
		var made *object.VirtualMachine
		if err := k.task(ctx, "Create", func(ctx context.Context) (*object.Task, error) {
			t, err := folder.CreateVM(ctx, types.VirtualMachineConfigSpec{
				Name: fmt.Sprintf("made-%s-%d", k.name, n%3), NumCPUs: 1, MemoryMB: 128,
				Files: &types.VirtualMachineFileInfo{VmPathName: "[ds1]"},
			}, pool, host)
			if err != nil {
				return nil, err
			}
			info, err := t.WaitForResult(ctx)
			if err == nil {
				made = object.NewVirtualMachine(k.client, info.Result.(types.ManagedObjectReference))
			}
			return t, err
		}); err != nil {
			return err
		}
		if made == nil {
			continue
		}
		if err := k.task(ctx, "Snapshot", func(ctx context.Context) (*object.Task, error) {
			return made.CreateSnapshot(ctx, "s", "", false, false)
		}); err != nil {
			return err
		}
		if err := k.task(ctx, "Destroy", made.Destroy); err != nil {
			return err
		}
	}
	return nil
}

// search asks in all the ways that cloud providers do.
func search(ctx context.Context, k *worker) error {
	index := object.NewSearchIndex(k.client)
	pc := property.DefaultCollector(k.client)
	for !k.done() {
		vm := k.vm()
		var got mo.VirtualMachine
		if err := k.over("Retrieve", pc.RetrieveOne(ctx, vm.Reference(), []string{"config.uuid", "guest", "runtime", "summary"}, &got)); err != nil {
			return err
		}
		if got.Config == nil {
			continue
		}
		found, err := index.FindByUuid(ctx, nil, got.Config.Uuid, true, nil)
		if err := k.over("FindByUuid", err); err != nil {
			return err
		}
		if found == nil || found.Reference() != vm.Reference() {
			return fmt.Errorf("UUID of %s finds %v", vm.Reference(), found)
		}
		if _, err := index.FindAllByDnsName(ctx, nil, vm.Name(), true); k.over("FindAllByDnsName", err) != nil {
			return err
		}
		if _, err := index.FindByInventoryPath(ctx, vm.InventoryPath); k.over("FindByInventoryPath", err) != nil {
			return err
		}
	}
	return nil
}

// hosts takes hosts out of service and back: one of the cluster, whose VMs are not moved away, so that maintenance mode
// is given up, and a lonely one.
func hosts(ctx context.Context, k *worker) error {
	lonely, err := find.NewFinder(k.client).HostSystem(ctx, "/dc/host/alone/alone")
	if err != nil {
		return err
	}
	for !k.done() {
		host := object.NewHostSystem(k.client, k.hosts[k.random.IntN(len(k.hosts))])
		for _, step := range []struct {
			name string
			f    func(context.Context) (*object.Task, error)
		}{
			{"Disconnect", host.Disconnect},
			{"Reconnect", func(ctx context.Context) (*object.Task, error) { return host.Reconnect(ctx, nil, nil) }},
			{"EnterMaintenance", func(ctx context.Context) (*object.Task, error) {
				return lonely.EnterMaintenanceMode(ctx, 1, false, nil)
			}},
			{"ExitMaintenance", func(ctx context.Context) (*object.Task, error) { return lonely.ExitMaintenanceMode(ctx, 1) }},
		} {
			if err := k.task(ctx, step.name, step.f); err != nil {
				return err
			}
		}
		if err := k.pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// kill ends another worker's session now and then.
func kill(ctx context.Context, k *worker) error {
	for !k.done() {
		if err := k.pause(ctx, 60*time.Millisecond); err != nil {
			return err
		}
		var m mo.SessionManager
		if err := property.DefaultCollector(k.client).RetrieveOne(ctx, *k.client.ServiceContent.SessionManager, []string{"sessionList"}, &m); err != nil {
			return err
		}
		own, err := k.login.UserSession(ctx)
		if err != nil || own == nil || len(m.SessionList) == 0 {
			return err
		}
		victim := m.SessionList[k.random.IntN(len(m.SessionList))]
		if victim.Key == own.Key {
			continue
		}
		end := k.m.begin("op.Kill", 0)
		err = k.over("TerminateSession", k.login.TerminateSession(ctx, []string{victim.Key}))
		end()
		if err != nil {
			return err
		}
	}
	return nil
}

func (k *worker) pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
