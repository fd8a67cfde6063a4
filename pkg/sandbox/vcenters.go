package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
)

// vcenterCA is the file with the certificate that verifies every vCenter of the sandbox.
func (s *Sandbox) vcenterCA() string { return s.opts.Dir.Path("pki", "vcenter-ca.crt") }

func (s *Sandbox) startVCenters(ctx context.Context) error {
	ca, err := cert.NewCA("vsphere-sandbox " + s.opts.Name + " vCenters")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.vcenterCA()), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(s.vcenterCA(), ca.Cert, 0o600); err != nil {
		return err
	}
	boot := vcenters.Boot{
		Name: s.opts.Name, Dir: s.opts.Dir.Path(), Topology: s.opts.Topology, Speed: s.opts.Speed, CA: ca, Log: s.log, Logger: s.opts.Logger,
		Addresses: s.opts.Addresses, Port: s.opts.VCenterPort,
		Names:  func(string) []string { return nil },
		Guests: func(string) cns.Guests { return nil },
		Know:   func(values ...string) error { return s.secrets.Know(values...) }, Session: s.knowSession,
		Inventory: func(vcenter string) *world.Inventory {
			inventory := world.NewInventory(vcenter, s.rows.InventoryChanged)
			inventory.Around = s.rows.AroundChanged
			return inventory
		},
		Detail: s.boot.Detail,
	}
	if g, ok := s.ground.(ground.Names); ok {
		boot.Names = g.Names
	}
	if g, ok := s.ground.(ground.Volumes); ok {
		boot.Guests = g.Guests
	}
	s.vcenters, err = s.source.Start(ctx, boot)
	return err
}

// watchInventory returns when every inventory is complete.
func (s *Sandbox) watchInventory(ctx context.Context) error {
	inventories := make([]*world.Inventory, len(s.vcenters))
	for i, vc := range s.vcenters {
		inventories[i] = vc.Inventory
	}
	w := world.New(s.nodes, inventories...)
	s.mu.Lock()
	s.world = w
	s.mu.Unlock()

	s.tags.Begin()
	s.background.Run("inventory watch", s.rows.FollowLog)

	g, ctx := errgroup.WithContext(ctx)
	for _, vc := range s.vcenters {
		synced := make(chan struct{})
		s.background.Run("inventory watch", func(ctx context.Context) { _ = vc.Client.Run(ctx) }) // returns nil
		s.background.Run("inventory watch", func(ctx context.Context) {
			_ = vc.Client.Watch(ctx, world.Spec(), &syncing{Inventory: vc.Inventory, s: s, first: synced, chosen: vc.Chosen}) // ends with ctx
		})
		s.background.Run("inventory watch", func(ctx context.Context) { s.rows.FollowCalls(ctx, vc) })
		s.background.Run("inventory watch", func(ctx context.Context) { s.tags.Follow(ctx, vc) })
		g.Go(func() error {
			select {
			case <-synced:
				return s.tags.Read(ctx, vc)
			case <-ctx.Done():
				err := context.Cause(ctx)
				if last := vc.Client.State().Err; last != nil { // else it is connected, and slow
					err = fmt.Errorf("%w: %w", err, last)
				}
				return fmt.Errorf("vcenter %q: %w", vc.Name(), err)
			}
		})
	}
	return g.Wait()
}

func (s *Sandbox) unwatchInventory(ctx context.Context) error {
	return s.background.End(ctx, "inventory watch")
}

// syncing reports when an inventory is complete for the first time, and when its watch is lost.
type syncing struct {
	*world.Inventory
	s      *Sandbox
	first  chan struct{}
	lost   bool
	chosen func([]vcenter.Update) []vcenter.Update // nil for all
}

func (y *syncing) Update(updates []vcenter.Update) {
	if y.chosen != nil {
		updates = y.chosen(updates)
	}
	y.Inventory.Update(updates)
}

func (y *syncing) Synced() {
	y.Inventory.Synced()
	if y.first != nil {
		close(y.first)
		y.first = nil
	}
	if y.lost {
		y.lost = false
		y.s.log.Append(event.Event{
			Plane: event.PlaneSandbox, Kind: "inventory.synced",
			Object: event.Object{Kind: "VCenter", Name: y.VCenter}, Message: "inventory is current again",
		})
	}
	y.s.rows.VCenterChanged(y.VCenter)
}

func (y *syncing) Lost(err error) {
	y.Inventory.Lost(err)
	y.lost = true
	y.s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: event.Warning, Kind: "inventory.lost",
		Object: event.Object{Kind: "VCenter", Name: y.VCenter}, Message: err.Error(),
	})
	y.s.rows.VCenterChanged(y.VCenter)
}
