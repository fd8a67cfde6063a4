package sim

import (
	"cmp"
	"errors"
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

// Options configures [New]. Only Topology is required.
type Options struct {
	// Topology is the topology to build, as topology.Load returns it.
	Topology *topology.Topology
	// CA signs the certificates of the vCenters. Default: a new one, see [Simulation.CA].
	CA *cert.CA
	// Dir holds the files of the datastores: an existing, empty directory that other users cannot read. The caller removes it
	// after Close. Each VM is a directory with five small files, whose creation is most of the startup time of a large topology:
	// 1,000 VMs take a second on a file system in memory, several on a disk. Default: a temporary directory, removed by Close.
	Dir string
	// Addresses are the listen addresses of the vCenters, one "IP:port" each in the order of the topology; port 0 means any free
	// one. Empty: a separate loopback address for each, all with the same Port, from the next free block of addresses: see
	// [loopback.Listen].
	Addresses []string
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
	// OnPassword is called with each password, including generated ones, before an account of a vCenter gets it. Its error
	// refuses the password. It must not block, and may be called concurrently. Optional.
	OnPassword func(string) error
	// OnSession is called with the cookie of each new session: a secret as long as the session is open. It must not block, and
	// may be called concurrently. Optional.
	OnSession func(string)
	// BootDelay is the time from a VM's power-on to a reporting guest. VMs that the topology powers on are up from the start.
	BootDelay time.Duration
	// Speed divides the default times of automatic actions of vCenters: HA, DRS, DHCP. Default: 1.
	Speed pace.Speed
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
