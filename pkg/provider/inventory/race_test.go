package inventory_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// Thirty-two workers look VMs up, query zones and confirm absences while VMs are switched off and on, renamed, tagged and moved,
// and a vCenter disappears and returns. An existing VM is never confirmed gone.
func TestStorm(t *testing.T) {
	var notified atomic.Int64
	w := start(t, func(_ *world, cfg *inventory.Config) {
		cfg.VCenters[0].Datacenters = []string{"/americas/west", "east"}
		cfg.TagRefresh = 50 * time.Millisecond
		cfg.OnChange = func(c inventory.Change) { notified.Add(int64(len(c.VMs) + len(c.Left) + 1)) }
	})
	w.synced(t)
	// Calls that may fail the test are made before the workers start.
	m := w.tagger(t, "eu")
	dc := w.datacenter(t, "eu", "/dc")
	tag, err := m.GetTagForCategory(t.Context(), "eu-all", "k8s-zone")
	if err != nil {
		t.Fatal(err)
	}
	vm, err := w.ByUUID(uuid(t, w1UUID)).One()
	if err != nil {
		t.Fatal(err)
	}
	w1 := object.NewVirtualMachine(w.admin(t, "us"), vm.Ref)

	eu := w.vcenter(t, "eu").Gate()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	churn := func(f func(i int)) {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				f(i)
			}
		})
	}
	churn(func(i int) {
		step := w1.PowerOff
		if i%2 == 1 {
			step = w1.PowerOn
		}
		if task, err := step(ctx); err == nil {
			_ = task.Wait(ctx)
		}
	})
	churn(func(i int) { churnTags(ctx, m, tag.ID, dc, i) })
	churn(func(i int) {
		churnFeed(w, vm, i)
		time.Sleep(time.Millisecond)
	})
	wg.Go(func() {
		for _, s := range []gate.State{gate.Down, gate.Up} {
			time.Sleep(600 * time.Millisecond)
			if err := eu.Set(t.Context(), gate.Mode{State: s}); err != nil {
				t.Error(err)
			}
		}
	})
	ids := []match.UUID{uuid(t, w1UUID), uuid(t, euUUID), uuid(t, e1UUID), uuid(t, eu2UUID).Swapped(), uuid(t, w1UUID).Swapped()}
	for n := range 32 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 1))
			for ctx.Err() == nil {
				if err := look(ctx, w, r, ids); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if notified.Load() == 0 {
		t.Error("no change was told")
	}
}

// look makes one call that the node controllers make.
func look(ctx context.Context, w *world, r *rand.Rand, ids []match.UUID) error {
	id := ids[r.IntN(len(ids))]
	switch r.IntN(8) {
	case 0:
		w.ByHostName([]string{"w1", "EU1.", "e1.example.org", "nobody"}[r.IntN(4)])
	case 1:
		w.ByIP(netip.MustParseAddr("198.18.5.1"))
	case 2:
		for _, s := range w.Status() {
			if s.VMs == 0 {
				return fmt.Errorf("an empty index: %+v", s)
			}
		}
	case 3:
		if r.IntN(20) == 0 {
			if err := w.ConfirmAbsent(ctx, id); err == nil {
				return fmt.Errorf("%s confirmed gone", id)
			}
		}
	case 4:
		_ = w.ConfirmAbsent(ctx, match.UUID{byte(r.IntN(256)), 1})
	default:
		result := w.ByUUID(id)
		vm, err := result.One()
		if err != nil {
			if result.Doubt == nil {
				return fmt.Errorf("%s without a doubt: %w", id, err)
			}
			return nil
		}
		w.Datacenter(vm)
		if _, err := w.Zone(vm); err != nil && !errors.As(err, new(*inventory.MissingTagError)) {
			return err
		}
	}
	return nil
}

func churnTags(ctx context.Context, m *tags.Manager, tag string, on *object.Datacenter, i int) {
	if i%2 == 0 {
		_ = m.DetachTag(ctx, tag, on) // the gate may be down
		return
	}
	_ = m.AttachTag(ctx, tag, on)
}

// churnFeed sends updates that a simulated vCenter does not: folders move, VMs come and go, some without a UUID.
func churnFeed(w *world, vm *inventory.VM, i int) {
	folder := types.ManagedObjectReference{Type: "Folder", Value: "group-storm"}
	passing := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-storm"}
	change := func(path string, val any) []types.PropertyChange {
		return []types.PropertyChange{{Name: path, Val: val}}
	}
	switch i % 4 {
	case 0:
		w.Feed("us", vcenter.Update{Kind: vcenter.Enter, Ref: folder, Changes: change("parent", vm.Parent)})
	case 1:
		w.Feed("us", vcenter.Update{Kind: vcenter.Enter, Ref: passing, Changes: change("parent", folder)})
	case 2:
		w.Feed("us", vcenter.Update{Kind: vcenter.Modify, Ref: passing, Changes: change("name", fmt.Sprint(i))})
	case 3:
		w.Feed("us", vcenter.Update{Kind: vcenter.Leave, Ref: passing}, vcenter.Update{Kind: vcenter.Leave, Ref: folder})
	}
}
