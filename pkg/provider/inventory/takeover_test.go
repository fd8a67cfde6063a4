package inventory_test

import (
	"context"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/inventory"
)

// An inventory that takes over another's vCenters answers at once, on the same sessions, and continues when the other ends; each
// uses its own configuration.
func TestTakeOver(t *testing.T) {
	var cfg inventory.Config
	w := start(t, func(_ *world, c *inventory.Config) { cfg = *c })
	w.synced(t)
	sessions := func() (keys []string) {
		for _, v := range w.sim.VCenters() {
			for _, s := range v.Sessions() {
				if !s.REST {
					keys = append(keys, s.Key)
				}
			}
		}
		return keys
	}
	if n := len(sessions()); n != 2 {
		t.Fatalf("%d sessions", n)
	}
	run := func(inv *inventory.Inventory) (end func()) {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- inv.Run(ctx) }()
		<-inv.Running()
		return func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}

	cfg.Previous = w.Inventory
	second, err := inventory.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	end := run(second)
	began := time.Now()
	if err := second.WaitSynced(t.Context()); err != nil || time.Since(began) > 10*time.Second {
		t.Errorf("in sync after %s, %v", time.Since(began), err)
	}

	cfg.Previous, cfg.Categories = second, inventory.Categories{}
	third, err := inventory.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer run(third)()
	end()
	for _, s := range third.Status() {
		if !s.Synced || s.Doubt != nil || s.VMs == 0 || s.SyncedAt.IsZero() || !s.TagsReadAt.IsZero() {
			t.Errorf("%+v", s)
		}
	}
	for _, s := range w.Status() {
		if s.Doubt != nil || s.TagsReadAt.IsZero() {
			t.Errorf("the first: %+v", s)
		}
	}
	vm, err := third.ByHostName("eu2").One()
	if err != nil {
		t.Fatal(err)
	}
	if z, err := third.Zone(vm); err != nil || z != (inventory.Zone{}) {
		t.Errorf("zone without categories: %+v, %v", z, err)
	}
	if z, err := w.Zone(vm); err != nil || z == (inventory.Zone{}) {
		t.Errorf("zone with categories: %+v, %v", z, err)
	}
	if n := len(sessions()); n != 2 {
		t.Errorf("%d sessions", n)
	}
}
