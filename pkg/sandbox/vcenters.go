package sandbox

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/trim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
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
	if s.opts.Real != nil {
		return s.startReal(ctx, ca)
	}
	dir := ground.SimDir(s.opts.Dir.Path())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	simulation, err := sim.New(ctx, sim.Options{
		Topology:  s.opts.Topology,
		CA:        ca,
		Dir:       dir,
		Events:    s.log,
		Logger:    s.opts.Logger,
		BootDelay: s.opts.Speed.Of(pace.GuestBoot),
		Speed:     s.opts.Speed,
		Addresses: s.opts.Addresses,
		Port:      s.opts.VCenterPort,
		Saved:     s.opts.Saved,
		Login:     s.opts.Login,
		Names:     s.vcenterNames,
		Guests:    s.vcenterGuests,

		OnPassword: func(password string) error { return s.secrets.Know(password) },
		OnSession:  s.knowSession,
	})
	if err != nil {
		return err
	}
	s.sim = simulation
	if note := simulation.Note(); note != "" {
		s.log.Append(event.Event{Plane: event.PlaneSandbox, Level: event.Warning, Kind: "vcenters.note", Message: note})
	}
	vms := 0
	for _, vc := range simulation.VCenters() {
		vms += vc.VMs()
	}
	trim.Inventory(vms)
	for _, vc := range simulation.VCenters() {
		client, err := vcenter.New(vcenter.Config{
			Name:      vc.Name(),
			Server:    vc.Host(),
			Port:      vc.Port(),
			CAData:    ca.Cert,
			UserAgent: userAgent,
			Credentials: func(context.Context) (vcenter.Credentials, error) {
				password, _ := vc.Console().Password()
				return vcenter.Credentials{User: vc.Console().Username(), Password: password}, nil
			},
			// The sandbox is at the vCenter's console, so to speak: what is done to its gate, and to the passwords and
			// permissions of accounts, is for its clients.
			Dial:   func(ctx context.Context, _, _ string) (net.Conn, error) { return vc.DialConsole(ctx) },
			Logger: s.opts.Logger,
		})
		if err != nil {
			return err
		}
		s.vcenters = append(s.vcenters, s.watch(vc, client))
	}
	return nil
}

// vcenterNames are further names and addresses by which clients in the cluster reach a vCenter.
func (s *Sandbox) vcenterNames(vcenter string) []string {
	if g, ok := s.ground.(ground.Names); ok {
		return g.Names(vcenter)
	}
	return nil
}

// vcenterGuests show the disks of a vCenter's VMs to what runs in them; nil: nothing there has block devices.
func (s *Sandbox) vcenterGuests(vcenter string) cns.Guests {
	if g, ok := s.ground.(ground.Volumes); ok {
		return g.Guests(vcenter)
	}
	return nil
}

// watch joins a simulated vCenter with what is to be watched of it.
func (s *Sandbox) watch(vc *sim.VCenter, client *vcenter.Client) *vcenters.VCenter {
	inventory := s.newInventory(vc.Name())
	return &vcenters.VCenter{Endpoint: vc, Sim: vc, Client: client, Inventory: inventory}
}

func (s *Sandbox) newInventory(vcenter string) *world.Inventory {
	inventory := world.NewInventory(vcenter, s.inventoryChanged)
	inventory.Around = s.aroundChanged
	return inventory
}

func (s *Sandbox) stopVCenters(ctx context.Context) error {
	if s.real != nil {
		return s.stopReal(ctx)
	}
	if s.sim == nil {
		return nil
	}
	return s.sim.Close(ctx)
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
	s.background.Run("inventory watch", s.followLog)

	g, ctx := errgroup.WithContext(ctx)
	for _, vc := range s.vcenters {
		synced := make(chan struct{})
		s.background.Run("inventory watch", func(ctx context.Context) { _ = vc.Client.Run(ctx) }) // returns nil
		s.background.Run("inventory watch", func(ctx context.Context) {
			_ = vc.Client.Watch(ctx, world.Spec(), &syncing{Inventory: vc.Inventory, s: s, first: synced, chosen: s.chosenOf(vc)}) // ends with ctx
		})
		s.background.Run("inventory watch", func(ctx context.Context) { s.followCalls(ctx, vc) })
		if vc.Sim == nil {
			s.background.Run("inventory watch", func(ctx context.Context) { s.tags.Follow(ctx, vc) })
		}
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

// syncing tells when an inventory is complete for the first time, and of losses.
type syncing struct {
	*world.Inventory
	s     *Sandbox
	first chan struct{}
	lost  bool

	chosen *chosen
}

func (y *syncing) Update(updates []vcenter.Update) { y.Inventory.Update(y.chosen.only(updates)) }

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
	y.s.vcenterChanged(y.VCenter)
}

func (y *syncing) Lost(err error) {
	y.Inventory.Lost(err)
	y.lost = true
	y.s.log.Append(event.Event{
		Plane: event.PlaneSandbox, Level: event.Warning, Kind: "inventory.lost",
		Object: event.Object{Kind: "VCenter", Name: y.VCenter}, Message: err.Error(),
	})
	y.s.vcenterChanged(y.VCenter)
}
