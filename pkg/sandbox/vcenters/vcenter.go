// Package vcenters holds the vCenters of a sandbox, simulated or real: each with the gate before it, the sandbox's own
// connection to it, and the inventory that the connection watches.
//
// Floor 3.
package vcenters

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"reflect"
	"strings"
	"time"

	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// Endpoint is a vCenter as its clients see it, simulated or real, with the gate in front of it.
type Endpoint interface {
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
	// DialConsole returns a connection that bypasses the gate; the caller starts TLS on it.
	DialConsole(context.Context) (net.Conn, error)
	fault.Front

	// Simulator returns the simulated vCenter; nil for a real one.
	Simulator() *sim.VCenter
	// Patience bounds one request.
	Patience() time.Duration
	// TagPeriod is how often the tags must be read; 0 when the event log reports every change.
	TagPeriod() time.Duration
	// Causing sets the event that is the cause of what happens to a VM until release is called. A real vCenter keeps none.
	Causing(vm string, seq uint64) (release func())
	// OnDied calls f for each VM that dies with its host. A real vCenter reports none.
	OnDied(f func(vm types.ManagedObjectReference, seq uint64))
	// Volumes returns all that CNS of a simulated vCenter has; of a real one those that are attached to watched VMs.
	Volumes() []sim.Volume
	// VolumeDir returns the directory that stands for a volume's disk; "" for a real vCenter.
	VolumeDir(id string) string
	// Secrets returns the passwords and session keys that a simulated vCenter accepts. Those of a real one are known
	// before they are used.
	Secrets() []string
}

// VCenter is a vCenter with the sandbox's own connection to it.
type VCenter struct {
	Endpoint
	Client    *vcenter.Client
	Inventory *world.Inventory
	// Real is what may be done to a real one, as [api.Ground.Real] returns it; "" for a simulated one.
	Real string
	// Chosen returns the updates that the inventory gets; nil for all of them.
	Chosen func([]vcenter.Update) []vcenter.Update
}

// List is the vCenters of a sandbox, in the order of its topology.
type List []*VCenter

// Find returns the vCenter with that name, nil without one.
func (l List) Find(name string) *VCenter {
	for _, vc := range l {
		if vc.Name() == name {
			return vc
		}
	}
	return nil
}

// VM returns a VM as its vCenter reported it, and whether it exists.
func (l List) VM(key world.VMKey) (world.VM, bool) {
	if vc := l.Find(key.VCenter); vc != nil {
		return vc.Inventory.VM(key.Ref)
	}
	return world.VM{}, false
}

// Datastores lists the datastores, with how many volumes each has.
func (l List) Datastores() []api.Datastore {
	rows := []api.Datastore{}
	for _, vc := range l {
		count := map[string]int{}
		for _, v := range vc.Volumes() {
			count[v.DatastoreName]++
		}
		for _, row := range vc.Inventory.Datastores() {
			row.Volumes = count[row.Name]
			rows = append(rows, row)
		}
	}
	return rows
}

// Simulated returns the simulator, or an error for a real vCenter; what names the request in a few words.
func (w *VCenter) Simulated(what string) (*sim.VCenter, error) {
	if s := w.Simulator(); s != nil {
		return s, nil
	}
	return nil, OnlySimulated(w.Name(), what)
}

// OnlySimulated returns the error of a request to a real vCenter that takes a simulated one.
func OnlySimulated(vcenter, what string) error {
	return &api.Error{
		Code: "unsupported", Message: fmt.Sprintf("vcenter %q: %s: only a simulated vCenter can do that, and this is a real one", vcenter, what),
		Try: "vsphere-sandbox record, then up with the recording",
	}
}

// Volume returns the volume with that id, or with a disk at that path.
func (w *VCenter) Volume(id string) (sim.Volume, bool) {
	if s := w.Simulator(); s != nil && !strings.HasSuffix(id, ".vmdk") {
		return s.Volume(id) // without a copy of all of them
	}
	for _, v := range w.Volumes() {
		if v.ID == id || v.Path == id && id != "" {
			return v, true
		}
	}
	return sim.Volume{}, false
}

// VolumesOf returns the volumes that are attached to a VM.
func VolumesOf(vm world.VM) (all []sim.Volume) {
	for _, d := range vm.Disks {
		if d.Volume == "" {
			continue
		}
		v := sim.Volume{VMName: vm.Name}
		v.ID, v.Name, v.VM, v.CapacityMB = d.Volume, d.Volume, vm.Ref, d.Bytes>>20
		v.Path = d.File
		if name, _, ok := strings.Cut(strings.TrimPrefix(d.File, "["), "]"); ok {
			v.DatastoreName = name
		}
		all = append(all, v)
	}
	return all
}

// effective is the gate's mode, or what a rule about all calls makes of it.
func effective(g *gate.Gate) gate.Mode {
	mode := g.Mode()
	for _, r := range g.Rules() {
		if mode.State != gate.Up || r.State != gate.Active || r.Rule.Probability > 0 && r.Rule.Probability < 1 || !reflect.DeepEqual(r.Rule.Match, gate.Match{}) {
			continue
		}
		switch a := r.Rule.Action.(type) {
		case gate.Outage, gate.Refuse:
			mode = gate.Mode{State: gate.Down}
		case gate.Hang, gate.BlackHole:
			mode = gate.Mode{State: gate.Hung}
		case gate.Latency:
			mode = gate.Mode{State: gate.Slow, Delay: a.Delay}
		}
	}
	return mode
}

// Row describes the vCenter.
func (w *VCenter) Row() api.VCenter {
	mode := effective(w.Gate())
	row := api.VCenter{
		Name: w.Name(), URL: w.URL().String(), User: w.User(), InstanceUUID: w.InstanceUUID(), Version: w.Version(),
		Gate: string(mode.State), Delay: api.Duration(mode.Delay), Watched: w.Inventory.Watched(), Real: w.Real,
	}
	row.Datacenters, row.Hosts, row.VMs = w.Inventory.Count()
	for _, st := range w.Gate().Stats() {
		row.Calls += uint64(st.Calls)
	}
	return row
}

// Calls counts what the vCenter was asked for, by method and client.
func (w *VCenter) Calls() []api.Calls { return CallsRows(w.Name(), w.Gate().Stats()) }

// CallsRows are the rows of counts of a gate.
func CallsRows(vcenter string, stats []gate.Stat) []api.Calls {
	rows := make([]api.Calls, len(stats))
	for i, st := range stats {
		rows[i] = api.Calls{
			VCenter: vcenter, Client: st.Client, Method: st.Method,
			Calls: uint64(st.Calls), Errors: uint64(st.Errors), Hits: uint64(st.Hits),
			Latency: api.Duration(st.Latency), Last: st.Last, LastError: st.LastError,
		}
	}
	return rows
}

// ErrorText returns the text of an error of vSphere, with words for the faults that are common.
func ErrorText(err error) string {
	text := err.Error()
	vimfault.In(err, func(f types.BaseMethodFault, _ string, _ []types.LocalizableMessage) bool {
		switch f := f.(type) {
		case *types.InvalidPowerState:
			text = fmt.Sprintf("it is %s", f.ExistingState)
		case *types.ManagedObjectNotFound:
			text = "it does not exist any more"
		default:
			return false
		}
		return true
	})
	return text
}
