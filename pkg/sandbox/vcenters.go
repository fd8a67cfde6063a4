package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"golang.org/x/sync/errgroup"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/trim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	realvcenter "github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
)

// endpoint is a vCenter as its clients see it, simulated or real, with the gate in front of it.
type endpoint interface {
	Name() string
	Host() string
	Port() int
	Addr() string
	URL() *url.URL
	// User and Password are the administrator's, or whom the configuration of a real one names.
	User() string
	Password() string
	InstanceUUID() string
	Version() string
	Gate() *gate.Gate
	// Certificate is the one that it began with, PEM.
	Certificate() []byte
	// DialConsole returns a connection, on which TLS is to be spoken, that the gate knows nothing of.
	DialConsole(context.Context) (net.Conn, error)
	fault.Front
}

// watched is a vCenter with the sandbox's own connection to it and what that tells.
type watched struct {
	endpoint
	sim       *sim.VCenter // nil for a real one
	client    *vcenter.Client
	inventory *world.Inventory
}

// simulated is what only a simulated vCenter can do, or why this one cannot: what is a few words for what was asked for.
func (w *watched) simulated(what string) (*sim.VCenter, error) {
	if w.sim == nil {
		return nil, onlySimulated(w.Name(), what)
	}
	return w.sim, nil
}

// onlySimulated refuses for a real vCenter what takes a simulated one.
func onlySimulated(vcenter, what string) error {
	return &api.Error{
		Code: "unsupported", Message: fmt.Sprintf("vcenter %q: %s: only a simulated vCenter can do that, and this is a real one", vcenter, what),
		Try: "vsphere-sandbox record, then up with the recording",
	}
}

// patience is how long its answers may take: a real one may be slow, and is not dead for that.
func (w *watched) patience() time.Duration {
	if w.sim == nil {
		return realvcenter.Patience
	}
	return 5 * time.Second
}

// causing names the event that is the cause of what happens to a VM until release is called. A real vCenter cannot be told.
func (w *watched) causing(vm string, seq uint64) (release func()) {
	if w.sim == nil {
		return func() {}
	}
	return w.sim.Causing(vm, seq)
}

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
func (s *Sandbox) watch(vc *sim.VCenter, client *vcenter.Client) *watched {
	inventory := s.newInventory(vc.Name())
	return &watched{endpoint: vc, sim: vc, client: client, inventory: inventory}
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
		inventories[i] = vc.inventory
	}
	w := world.New(s, inventories...)
	s.mu.Lock()
	s.world = w
	s.mu.Unlock()

	s.tags.mu.Lock()
	s.tags.at = s.log.Last() // they are about to be read
	s.tags.mu.Unlock()
	s.background.run("inventory watch", s.followLog)

	g, ctx := errgroup.WithContext(ctx)
	for _, vc := range s.vcenters {
		synced := make(chan struct{})
		s.background.run("inventory watch", func(ctx context.Context) { _ = vc.client.Run(ctx) }) // returns nil
		s.background.run("inventory watch", func(ctx context.Context) {
			_ = vc.client.Watch(ctx, world.Spec(), &syncing{Inventory: vc.inventory, s: s, first: synced, chosen: s.chosenOf(vc)}) // ends with ctx
		})
		s.background.run("inventory watch", func(ctx context.Context) { s.followCalls(ctx, vc) })
		if vc.sim == nil {
			s.background.run("inventory watch", func(ctx context.Context) { s.followTags(ctx, vc) })
		}
		g.Go(func() error {
			select {
			case <-synced:
				return s.readTags(ctx, vc)
			case <-ctx.Done():
				err := context.Cause(ctx)
				if last := vc.client.State().Err; last != nil { // else it is connected, and slow
					err = fmt.Errorf("%w: %w", err, last)
				}
				return fmt.Errorf("vcenter %q: %w", vc.Name(), err)
			}
		})
	}
	return g.Wait()
}

func (s *Sandbox) unwatchInventory(ctx context.Context) error {
	return s.background.end(ctx, "inventory watch")
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

// readTags asks a vCenter which objects have a region or zone tag. Tags have no watch.
func (s *Sandbox) readTags(ctx context.Context, vc *watched) error {
	ctx, cancel := context.WithTimeout(ctx, vc.patience())
	defer cancel()
	var t world.Tags
	err := vc.client.DoREST(ctx, func(ctx context.Context, rc *rest.Client) (err error) {
		m := tags.NewManager(rc)
		c := s.topology().Spec.Categories
		if t.Region, err = attached(ctx, m, c.Region); err == nil {
			t.Zone, err = attached(ctx, m, c.Zone)
		}
		return err
	})
	if err != nil {
		return err
	}
	if vc.inventory.SetTags(t) {
		s.tagsChanged(vc)
	}
	return nil
}

// attached returns the name of the tag of a category that each object has. A category that does not exist has none.
func attached(ctx context.Context, m *tags.Manager, category string) (map[ref]string, error) {
	of := map[ref]string{}
	list, err := m.GetTagsForCategory(ctx, category)
	if err != nil {
		if cats, cerr := m.GetCategories(ctx); cerr == nil && !named(cats, category) {
			return of, nil
		}
		return nil, fmt.Errorf("tags of category %q: %w", category, err)
	}
	if len(list) == 0 {
		return of, nil
	}
	ids := make([]string, len(list))
	name := map[string]string{}
	for i, t := range list {
		ids[i], name[t.ID] = t.ID, t.Name
	}
	objects, err := m.ListAttachedObjectsOnTags(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("objects with tags of category %q: %w", category, err)
	}
	for _, a := range objects {
		for _, o := range a.ObjectIDs {
			of[o.Reference()] = name[a.TagID]
		}
	}
	return of, nil
}

func named(categories []tags.Category, name string) bool {
	for _, c := range categories {
		if c.Name == name {
			return true
		}
	}
	return false
}

// refreshTags brings what is known of tags up to date before somebody is told; what can't be read stays as it was.
func (s *Sandbox) refreshTags(ctx context.Context) {
	var g errgroup.Group
	for _, vc := range s.vcenters {
		g.Go(func() error { return s.readTags(ctx, vc) })
	}
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		s.opts.Logger.Warn("tags", "err", err)
	}
}
