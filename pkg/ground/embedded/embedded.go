// Package embedded is the ground of a control plane in a process, with a kubelet in a process for each VM.
//
// Floor 3.
package embedded

import (
	"context"
	"errors"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/embedded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/node"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Host is the sandbox.
type Host interface {
	// Detail says what the present boot step waits for.
	Detail(text string)
	// SetCluster has the sandbox use the cluster.
	SetCluster(cluster.Cluster)
	// StartControlPlane starts the process and supervises it.
	StartControlPlane(child.Spec) *child.Child
}

// Ground implements [ground.Ground].
type Ground struct {
	options embedded.Options
	host    Host
	cluster *embedded.Cluster
	child   *child.Child
}

// New returns the ground; nothing runs yet.
func New(o embedded.Options, h Host) *Ground { return &Ground{options: o, host: h} }

// Facts implements [ground.Ground].
func (*Ground) Facts() ground.Facts {
	return ground.Facts{Cluster: api.ClusterEmbedded, Nodes: api.NodesHollow}
}

// Steps implements [ground.Ground]. The control plane comes first because it takes longest and needs nothing of vSphere;
// vCenters are built while it starts.
func (g *Ground) Steps(s ground.Steps) []ground.Step {
	return []ground.Step{
		{Name: "control plane", Start: g.start, Stop: g.stop},
		s.VCenters, s.Inventory, s.Faults,
		{Name: "API server", Start: func(ctx context.Context) error { return g.cluster.WaitReady(ctx, g.host.Detail) }},
		s.NodeWatch, s.CloudConfig, s.CCM, s.CSI, s.Nodes, s.Initialized, s.Volumes,
	}
}

func (g *Ground) start(context.Context) (err error) {
	if g.cluster, err = embedded.New(g.options); err != nil {
		return err
	}
	g.host.SetCluster(g.cluster)
	g.child = g.host.StartControlPlane(g.cluster.Spec(embedded.Component))
	return nil
}

func (g *Ground) stop(ctx context.Context) error {
	var errs []error
	if g.child != nil {
		errs = append(errs, g.child.Stop(ctx))
	}
	if g.cluster != nil {
		errs = append(errs, g.cluster.Close())
	}
	return errors.Join(errs...)
}

// Light implements [ground.Ground].
func (*Ground) Light(vm *topology.VM) bool { return vm.IsLight() }

// Guest implements [ground.Ground]: a process for each VM, or one for all that are light.
func (*Ground) Guest(n ground.Node) node.Guest {
	if n.IsLight() {
		return n.LightGuest(nil)
	}
	return n.Kubelet()
}
