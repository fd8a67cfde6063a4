package sandbox

import (
	"context"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/snapshot"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
)

// vcenterCA is the file with the certificate that verifies every vCenter of the sandbox.
func (s *Sandbox) vcenterCA() string { return s.opts.Dir.Path("pki", "vcenter-ca.crt") }

func (s *Sandbox) startVCenters(ctx context.Context) error {
	ca, err := s.snapshots.authorityOf()
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
		Place:     s.opts.Place,
		Names:     func(string) []string { return s.opts.Names },
		Guests:    func(string) cns.Guests { return nil },
		AddSecret: s.secrets.Know, Session: s.secrets.KnowSession,
		Inventory: func(vcenter string) *world.Inventory {
			inventory := world.NewInventory(vcenter, s.rows.InventoryChanged)
			inventory.Around = s.rows.AroundChanged
			return inventory
		},
		Detail: s.boot.Detail,
	}
	if s.opts.From != nil {
		boot.Snapshot = filepath.Join(s.opts.From.Path, snapshot.VCenters)
	}
	if g, ok := s.ground.(ground.Names); ok {
		boot.Names = g.Names
	}
	if g, ok := s.ground.(ground.Volumes); ok {
		boot.Guests = g.Guests
	}
	all, err := s.source.Start(ctx, boot)
	s.tracer.Attach(all)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vcenters = all
	return err
}

// watchInventory returns when all inventories are complete.
func (s *Sandbox) watchInventory(ctx context.Context) error {
	inventories := make([]*world.Inventory, len(vcentersOf(s)))
	for i, vc := range vcentersOf(s) {
		inventories[i] = vc.Inventory
	}
	w := world.New(s.nodes, inventories...)
	s.mu.Lock()
	s.world = w
	s.mu.Unlock()

	return s.inventory.Start(ctx, vcentersOf(s))
}

// vcentersOf returns the vCenters; none before they have started. A restore replaces them.
func vcentersOf(s *Sandbox) vcenters.List {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.vcenters
}
