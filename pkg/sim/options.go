package sim

import (
	"errors"
	"log/slog"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Options of [Start].
type Options struct {
	// Topology is what to build, as topology.Load returns it. Required.
	Topology *topology.Topology
	// CA signs the certificates of the vCenters. Required.
	CA *cert.CA
	// Dir holds the files of the datastores: an existing directory that nobody else can read, empty, removed by the
	// caller after Close. Each VM is a directory with five small files, and making them is most of the time that a large
	// topology takes: on a file system in memory 1,000 VMs take a second, on a disk several. Required.
	Dir string
	// Addresses are where the vCenters listen, one "IP:port" each in the order of the topology; port 0 means any free
	// one. Empty means a loopback address of its own for each, all with the port [DefaultPort], and the next block of
	// addresses where those are taken by another sandbox.
	Addresses []string
	// BootDelay is the time from a VM's power-on to a guest that reports. VMs that the topology has powered on are up
	// from the start.
	BootDelay time.Duration
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
	case o.CA == nil:
		return errors.New("simulation: no certificate authority")
	case o.Dir == "":
		return errors.New("simulation: no directory for datastores")
	case o.BootDelay < 0:
		return errors.New("simulation: negative boot delay")
	}
	return nil
}
