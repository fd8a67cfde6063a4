package vcenters

import (
	"context"
	"log/slog"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/loopback"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// UserAgent is the sandbox's name in the list of sessions of a vCenter.
const UserAgent = "vsphere-sandbox"

// Source provides the vCenters of a sandbox. Packages simulated and real implement it, and decide what a request may do to
// their vCenters. A source is used for one boot.
type Source interface {
	// Start brings the vCenters up and returns them in the order of the topology.
	Start(context.Context, Boot) (List, error)
	// Stop ends what Start has begun, also when Start has failed.
	Stop(context.Context) error

	// Ground returns what the status reports: the kind of inventory, and whether it is writable.
	Ground() api.Ground
	// StepTime is how long a step that waits for the vCenters may take; 0 for the usual time.
	StepTime() time.Duration
	// Args are the flags that programs of this project need to connect to the vCenters.
	Args() []string
	// CloudConfig renders vsphere.conf, and CSIConfig the configuration of upstream's CSI driver. The vCenters are up.
	CloudConfig(sim.CloudConfig) ([]byte, error)
	CSIConfig(sim.CSIConfig) ([]byte, error)

	// Builder returns what changes the inventories, or an error where that is not possible.
	Builder() (Builder, error)
	// Lacks returns why a kind of fault cannot be injected, "" when it can.
	Lacks(*fault.Kind) string
	// Confirms reports whether faults need a confirmation: the targets are then drawn once for both requests.
	Confirms() bool
	// AllowVM, AllowVolume and AllowFault return the error of a request that is refused or must be confirmed; nil when it may
	// be carried out.
	AllowVM(world.VM, api.VMRequest) error
	AllowVolume(*VCenter, api.Volume, api.VolumeRequest) error
	AllowFault(ctx context.Context, e *fault.Engine, r fault.Request, confirmed bool) error
}

// Builder changes the inventories to those of a topology.
type Builder interface {
	// Rack adds what no vCenter can create, before the topology is applied.
	Rack(*topology.Topology)
	// SetTopology replaces the topology when it is applied.
	SetTopology(*topology.Topology) error
}

// Boot is what a source needs of its sandbox. Names may be empty, Guests may be nil; the rest is mandatory.
type Boot struct {
	// Name is the sandbox's, Dir its directory.
	Name, Dir string
	Topology  *topology.Topology
	Speed     pace.Speed
	// CA signs the certificates that clients see.
	CA     *cert.CA
	Log    *event.Log
	Logger *slog.Logger
	// Place is where the vCenters listen.
	Place loopback.Place
	// Names are further names and addresses by which clients in the cluster reach a vCenter.
	Names func(vcenter string) []string
	// Guests show the disks of a vCenter's VMs to what runs in them.
	Guests func(vcenter string) cns.Guests
	// AddSecret adds secrets to the store of the sandbox; Session adds the key of a session.
	AddSecret func(...string) error
	Session   func(key string)
	// Inventory returns an inventory that reports its changes to the sandbox.
	Inventory func(vcenter string) *world.Inventory
	// Snapshot is a directory with what sim.VCenter.Snapshot has saved of each vCenter, by its escaped name; empty for none.
	Snapshot string
	// Detail reports what the present step waits for.
	Detail func(text string)
}
