package sim

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Options of [New]. Only Topology is required.
type Options struct {
	// Topology is what to build, as topology.Load returns it.
	Topology *topology.Topology
	// Saved are inventories to load, one for each vCenter of Topology, which [TopologyOf] makes of them. Optional.
	Saved []*Saved
	// CA signs the certificates of the vCenters. Default: one of their own, see [Simulation.CA].
	CA *cert.CA
	// Dir holds the files of the datastores: an existing directory that nobody else can read, empty, removed by the
	// caller after Close. Each VM is a directory with five small files, and making them is most of the time that a large
	// topology takes: on a file system in memory 1,000 VMs take a second, on a disk several. Default: a temporary one,
	// removed by Close.
	Dir string
	// Addresses are where the vCenters listen, one "IP:port" each in the order of the topology; port 0 means any free
	// one. Empty means a loopback address of its own for each, all with the same Port, and the next block of
	// addresses where those are taken by another sandbox: see [loopback.Listen].
	Addresses []string
	// Port is that of every vCenter when Addresses is empty; [loopback.AnyPort] takes free ones. Default:
	// [loopback.DefaultPort].
	Port int
	// Names are further names and IP addresses by which a vCenter, told by its name, is reached: its certificate has them
	// beside its own. Optional.
	Names func(vcenter string) []string
	// Guests show the disks of VMs, of the vCenter of that name, to what runs in them: see [cns.Guests]. Nil, or one that
	// returns nil: nothing there has block devices.
	Guests func(vcenter string) cns.Guests
	// Login is the administrator of every vCenter. Default: an account for each, with a password of its own.
	Login *url.Userinfo
	// OnPassword is called with each password before an account of a vCenter has it: those of the topology, those that are
	// generated, and later ones. Its error refuses the password. It must not block, and is called from any goroutine.
	// Optional.
	OnPassword func(string) error
	// OnSession is called with what the client of each new session has to show: a secret as long as the session is open. It
	// must not block, and is called from any goroutine. Optional.
	OnSession func(string)
	// BootDelay is the time from a VM's power-on to a guest that reports. VMs that the topology has powered on are up
	// from the start.
	BootDelay time.Duration
	// Speed divides the times that a topology leaves at their defaults for what vCenters do by themselves: HA, DRS, DHCP.
	// Default: 1.
	Speed pace.Speed
	// Events receives what happens to VMs and gates. Default: nobody.
	Events *event.Log
	// Logger receives what is going on inside, at debug level. Default: discarded.
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

// setDefaults fills in what was left out. It returns the temporary directory that it made, if it made one.
func (o *Options) setDefaults() (temp string, err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
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

// saved is the inventory that the vCenter of that place is loaded from; nil for one that is built.
func (o *Options) saved(i int) *Saved {
	if len(o.Saved) == 0 {
		return nil
	}
	return o.Saved[i]
}

// guests are those of a vCenter; nil for none.
func (o *Options) guests(vcenter string) cns.Guests {
	if o.Guests == nil {
		return nil
	}
	return o.Guests(vcenter)
}

// leaf is the certificate of a vCenter that listens at an address.
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
