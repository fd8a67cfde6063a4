package inspect

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/explain"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// Inspector explains and inspects the objects of a sandbox. Its fields return what the sandbox has in memory.
type Inspector struct {
	Log *event.Log
	// World is nil as long as there are no vCenters.
	World    func() *world.World
	Roles    world.Roles
	VCenters func() []VCenter
	// Kubernetes is nil as long as there is no cluster.
	Kubernetes func() kubernetes.Interface
	Volumes    func() []api.Volume
	Datastores func() []api.Datastore
	Components func() []api.Component
	Leases     func() []api.Lease
	// VMOf returns the VM behind a node, NodeOf the node that a VM is or should be; "" for none.
	VMOf   func(node string) (vcenter, vm string)
	NodeOf func(vcenter, vm string) string
	// Cut reports whether the network path of a Node to the API server is cut.
	Cut func(node string) bool
	CCM CCM
	// NSX lists the objects of the NSX Manager; nil without one.
	NSX func() ([]api.NSXObject, error)
	// Supervisor returns what the CCM asks in a guest cluster, with VirtualMachineServices only if asked for; nil outside of one.
	Supervisor func(ctx context.Context, services bool) *explain.Supervisor
	// Grace is how long a node may be silent before it is Unknown.
	Grace time.Duration
	// SharedCluster: the cluster is not the sandbox's own.
	SharedCluster bool
}

// VCenter is a vCenter, and what the sandbox knows of it.
type VCenter struct {
	Row       api.VCenter
	Server    string // how the cloud-config names it
	Client    *vcenter.Client
	Inventory *world.Inventory
	Gate      *gate.Gate
	// Calls counts the calls of its clients.
	Calls func() []api.Calls
	// Simulated returns the simulator, or why a real vCenter cannot do what is asked.
	Simulated func(what string) (*sim.VCenter, error)
}

func (i *Inspector) reader(vcenter string) reader {
	for _, vc := range i.VCenters() {
		if vc.Row.Name == vcenter {
			return reader{vc, i.Roles}
		}
	}
	return reader{}
}

// Sources returns what an explanation is gathered from; subject is the name that the CCM's log is searched for.
func (i *Inspector) Sources(subject string) explain.Sources {
	src := explain.Sources{Around: explain.Around{Now: time.Now(), Grace: i.Grace, SharedCluster: i.SharedCluster, Leases: i.Leases()}}
	src.Around.Events, _ = i.Log.Read(0, 0)
	for _, vc := range i.VCenters() {
		src.Inventories = append(src.Inventories, reader{vc, i.Roles})
		src.Around.VCenters = append(src.Around.VCenters, explain.VCenter{
			VCenter: vc.Row, Server: vc.Server, Calls: callsOfCCM(vc.Gate), Datacenters: vc.Inventory.Places(),
		})
	}
	if client := i.Kubernetes(); client != nil {
		src.Cluster = cluster{client}
		i.CCM.addTo(&src.Around, subject)
	}
	return src
}

// callsOfCCM are the last calls that cloud controller managers made, ours and others.
func callsOfCCM(g *gate.Gate) (list []explain.Call) {
	for _, c := range g.Recent() {
		if !strings.Contains(c.Client, "cloud") {
			continue
		}
		call := explain.Call{Time: c.Start, Method: c.Method, Answer: "ok", Failed: c.Failed(), Duration: c.Duration}
		if call.Failed {
			call.Answer = c.Failure()
		}
		list = append(list, call)
	}
	slices.SortFunc(list, func(a, b explain.Call) int { return a.Time.Compare(b.Time) })
	return list
}

// component finds a component by its name.
func (i *Inspector) component(name string) *api.Component {
	for _, row := range i.Components() {
		if row.Name == name {
			return &row
		}
	}
	return nil
}
