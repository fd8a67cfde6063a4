// Package simulated provides the simulated vCenters of a sandbox.
//
// Floor 3.
package simulated

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/trim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// Options are those of [sim.Options] that the user chooses. The zero value is useful.
type Options struct {
	Saved []*sim.Saved
	Login *url.Userinfo
	Vcsim sim.Vcsim
	// BootDelay is how long a guest boots; 0 for the usual time at the sandbox's speed.
	BootDelay time.Duration
}

// Source implements [vcenters.Source].
type Source struct {
	options Options
	*sim.Simulation
	kept []*net.TCPListener // for the next Start
}

// New returns a source that has not started.
func New(o Options) *Source { return &Source{options: o} }

// Start implements [vcenters.Source].
func (s *Source) Start(ctx context.Context, b vcenters.Boot) (vcenters.List, error) {
	dir := sim.StateDir(b.Dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	saved := s.options.Saved
	if b.Snapshot != "" {
		saved = nil
		for _, spec := range b.Topology.Spec.VCenters {
			one, err := sim.OpenSnapshot(filepath.Join(b.Snapshot, url.PathEscape(spec.Name)))
			if err != nil {
				return nil, fmt.Errorf("vcenter %q: %w", spec.Name, err)
			}
			saved = append(saved, one)
		}
	}
	simulation, err := sim.New(ctx, sim.Options{
		Topology:  b.Topology,
		CA:        b.CA,
		Dir:       dir,
		Events:    b.Log,
		Logger:    b.Logger,
		BootDelay: cmp.Or(s.options.BootDelay, b.Speed.Of(pace.GuestBoot)),
		Speed:     b.Speed,
		Addresses: b.Place.Addresses,
		Reserved:  b.Place.Reserved,
		Listeners: s.kept,
		Port:      b.Place.Port,
		Saved:     saved,
		Login:     s.options.Login,
		Vcsim:     s.options.Vcsim,
		Names:     b.Names,
		Guests:    b.Guests,

		OnPassword: func(password string) error { return b.AddSecret(password) },
		OnSession:  b.Session,
	})
	s.kept = nil
	if err != nil {
		return nil, err
	}
	s.Simulation = simulation
	if note := simulation.Note(); note != "" {
		b.Log.Append(event.Event{Plane: event.PlaneSandbox, Level: event.Warning, Kind: "vcenters.note", Message: note})
	}
	vms := 0
	for _, vc := range simulation.VCenters() {
		vms += vc.VMs()
	}
	trim.Inventory(vms)
	var all vcenters.List
	for _, vc := range simulation.VCenters() {
		client, err := vcenter.New(vcenter.Config{
			Name:      vc.Name(),
			Server:    vc.Host(),
			Port:      vc.Port(),
			CAData:    b.CA.Cert,
			UserAgent: vcenters.UserAgent,
			Credentials: func(context.Context) (vcenter.Credentials, error) {
				password, _ := vc.Console().Password()
				return vcenter.Credentials{User: vc.Console().Username(), Password: password}, nil
			},
			// Faults at the gate, and changes of passwords and permissions, are for clients: the console bypasses them.
			Dial:   func(ctx context.Context, _, _ string) (net.Conn, error) { return vc.DialConsole(ctx) },
			Logger: b.Logger,
		})
		if err != nil {
			return nil, err
		}
		all = append(all, &vcenters.VCenter{Endpoint: endpoint{vc}, Client: client, Inventory: b.Inventory(vc.Name())})
	}
	return all, nil
}

// Stop implements [vcenters.Source].
func (s *Source) Stop(ctx context.Context) error {
	if s.Simulation == nil {
		return nil
	}
	return s.Close(ctx)
}

// KeepAddresses has the next Start serve the addresses of the vCenters that run now; no other process gets them in between.
func (s *Source) KeepAddresses() (err error) {
	s.kept, err = s.Listeners()
	return err
}

// Ground implements [vcenters.Source].
func (*Source) Ground() api.Ground {
	return api.Ground{Inventory: api.InventorySimulated, Writable: true}
}

// CSIConfig implements [vcenters.Source].
func (s *Source) CSIConfig(c sim.CSIConfig) ([]byte, error) { return s.Simulation.CSIConfig(c), nil }

// Builder implements [vcenters.Source].
func (s *Source) Builder() (vcenters.Builder, error) { return s, nil }

// StepTime implements [vcenters.Source].
func (*Source) StepTime() time.Duration { return 0 }

// Args implements [vcenters.Source].
func (*Source) Args() []string { return nil }

// Lacks implements [vcenters.Source].
func (*Source) Lacks(*fault.Kind) string { return "" }

// Confirms implements [vcenters.Source].
func (*Source) Confirms() bool { return false }

// AllowVM implements [vcenters.Source].
func (*Source) AllowVM(world.VM, api.VMRequest) error { return nil }

// AllowVolume implements [vcenters.Source].
func (*Source) AllowVolume(*vcenters.VCenter, api.Volume, api.VolumeRequest) error { return nil }

// AllowFault implements [vcenters.Source].
func (*Source) AllowFault(context.Context, *fault.Engine, fault.Request, bool) error { return nil }

// endpoint implements [vcenters.Endpoint].
type endpoint struct{ *sim.VCenter }

func (e endpoint) Simulator() *sim.VCenter { return e.VCenter }

func (endpoint) Patience() time.Duration { return 5 * time.Second }

func (endpoint) TagPeriod() time.Duration { return 0 }
