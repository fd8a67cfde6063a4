package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/store"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Options configures [New]. Only Topology is required.
type Options struct {
	// Topology is the topology to build, as topology.Load returns it.
	Topology *topology.Topology
	// Saved are inventories to load, one for each vCenter of a Topology from [TopologyOf]. Optional.
	Saved []*Saved
	// CA signs the certificates of the vCenters. Default: a new one, see [Simulation.CA].
	CA *CA
	// Dir holds the files of the datastores: an existing, empty directory that other users cannot read. The caller removes it
	// after Close. Each VM is a directory with five small files, whose creation is most of the startup time of a large topology:
	// 1,000 VMs take a second on a file system in memory, several on a disk. Default: a temporary directory, removed by Close.
	Dir string
	// Addresses are the listen addresses of the vCenters, one "IP:port" each in the order of the topology; port 0 means any free
	// one. Empty: a separate loopback address for each, all with the same Port, from the next free block of addresses: see
	// [loopback.Listen].
	Addresses []string
	// Reserved are addresses that are left to others when Addresses is empty, as [loopback.Place] has them. Optional.
	Reserved []string
	// Listeners take the place of Addresses and Port, one for each vCenter: those of [Simulation.Listeners]. New takes them over.
	Listeners []*net.TCPListener
	// Port is the port of every vCenter if Addresses is empty; [loopback.AnyPort] takes free ones. Default:
	// [loopback.DefaultPort].
	Port int
	// Names returns more names and IP addresses for the certificate of a vCenter, by its name. Optional.
	Names func(vcenter string) []string
	// Guests returns what shows the disks of VMs to their guests, by the vCenter's name: see [cns.Guests]. Nil, or a nil result:
	// guests have no block devices.
	Guests func(vcenter string) cns.Guests
	// Login is the administrator of every vCenter. Default: a separate account and password for each.
	Login *url.Userinfo
	// Vcsim holds what vcsim's command line sets and a topology does not. Optional.
	Vcsim Vcsim
	// OnPassword is called with each password, including generated ones, before an account of a vCenter gets it. Its error
	// refuses the password. It must not block, and may be called concurrently. Optional.
	OnPassword func(string) error
	// OnSession is called with the cookie of each new session: a secret as long as the session is open. It must not block, and
	// may be called concurrently. Optional.
	OnSession func(string)
	// BootDelay is the time from a VM's power-on to a reporting guest. VMs that the topology powers on are up from the start.
	BootDelay time.Duration
	// Speed divides the default times of automatic actions of vCenters: HA, DRS, DHCP. Default: 1.
	Speed Speed
	// Events receives the events of VMs and gates. Default: none.
	Events *event.Log
	// Logger receives internal messages, at debug level. Default: discarded.
	Logger *slog.Logger
}

func (o Options) check() error {
	switch {
	case o.Topology == nil:
		return errors.New("simulation: no topology")
	case len(o.Topology.Spec.VCenters) == 0:
		return errors.New("simulation: topology has no vCenter")
	case len(o.Saved) > 0 && len(o.Saved) != len(o.Topology.Spec.VCenters):
		return fmt.Errorf("simulation: %d saved inventories for %d vCenters", len(o.Saved), len(o.Topology.Spec.VCenters))
	case o.BootDelay < 0:
		return errors.New("simulation: negative boot delay")
	}
	return nil
}

// setDefaults fills in defaults. It returns the temporary directory, if it created one.
func (o *Options) setDefaults() (temp string, err error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.CA == nil {
		if o.CA, err = cert.NewCA("vsphere-sandbox " + o.Topology.Metadata.Name + " vCenters"); err != nil {
			return "", err
		}
	}
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "vsphere-sandbox-sim-"); err != nil {
			return "", err
		}
		temp = o.Dir
	}
	return temp, nil
}

// saved returns the saved inventory of the i-th vCenter, or nil.
func (o *Options) saved(i int) *Saved {
	if len(o.Saved) == 0 {
		return nil
	}
	return o.Saved[i]
}

// guests returns the Guests of a vCenter, or nil.
func (o *Options) guests(vcenter string) cns.Guests {
	if o.Guests == nil {
		return nil
	}
	return o.Guests(vcenter)
}

// leaf describes the certificate of a vCenter that listens at an address.
func (o *Options) leaf(name string, listens net.IP) cert.Leaf {
	leaf := cert.Leaf{CommonName: name, DNSNames: []string{"localhost"}, IPs: []net.IP{listens}}
	if o.Names == nil {
		return leaf
	}
	for _, n := range o.Names(name) {
		if ip := net.ParseIP(n); ip != nil {
			leaf.IPs = append(leaf.IPs, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, n)
		}
	}
	return leaf
}

// Saved is the inventory of one vCenter, read from a folder, for one simulation.
type Saved struct {
	loaded *store.Loaded
	state  *savedState // nil for an inventory alone
}

// DamagedError lists the problems of a folder by file, with suggestions.
type DamagedError = store.Error

// OpenSaved reads and checks an inventory that "vcenter save" or govc's object.save wrote. If the contents are invalid, the error
// is a *[DamagedError].
func OpenSaved(dir string) (*Saved, error) {
	loaded, err := store.Load(dir)
	if err != nil {
		return nil, err
	}
	return &Saved{loaded: loaded}, nil
}

// Notes lists what was left out of the inventory because the folder lacks it.
func (s *Saved) Notes() []string { return s.loaded.Notes() }

// TopologyOf returns the topology of saved inventories for [Options]: their vCenters with users and roles, and without objects.
// It fails if two have the same name or are the same vCenter.
func TopologyOf(saved ...*Saved) (*topology.Topology, error) {
	t := &topology.Topology{
		APIVersion: topology.APIVersion, Kind: topology.Kind, Metadata: topology.Metadata{Name: "loaded"},
		Spec: topology.Spec{Seed: "loaded", Categories: topology.Categories{Region: "k8s-region", Zone: "k8s-zone"}},
	}
	seen := map[string]bool{}
	for _, s := range saved {
		v := s.loaded.Spec()
		for _, is := range []string{"name " + v.Name, "instance UUID " + v.InstanceUUID} {
			if seen[is] {
				return nil, fmt.Errorf("two of the saved vCenters have the %s", is)
			}
			seen[is] = true
		}
		t.Spec.VCenters = append(t.Spec.VCenters, v)
	}
	return t, nil
}

// restore installs a saved inventory.
func (v *VCenter) restore(ctx context.Context, dir string, saved *Saved) (*inventory.Built, error) {
	target := store.Target{Context: v.service.ctx, Dir: dir}
	if saved.state != nil {
		target.Files = saved.state.files
	}
	built, err := saved.loaded.Install(ctx, target)
	if err != nil {
		return nil, err
	}
	if saved.state != nil {
		if err := saved.state.restore(ctx, v, built); err != nil {
			return nil, err
		}
	}
	if err := v.service.rest.Restore(saved.loaded.Tags()); err != nil {
		return nil, err
	}
	if err := saved.loaded.RestorePolicies(v.service.policies); err != nil {
		return nil, err
	}
	for _, note := range saved.loaded.Notes() {
		v.logger.Info("loaded inventory", "note", note)
	}
	return built, v.grant(built)
}
