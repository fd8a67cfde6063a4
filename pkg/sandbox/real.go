package sandbox

import (
	"cmp"
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/record"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/scope"
)

// Real are vCenters that are not ours, as the inventory of a sandbox. Config is mandatory.
//
//	r := &sandbox.Real{Config: config, Selection: inventory.Selection{Folders: []string{"k8s/test"}}}
//	recording, err := r.Read(ctx, "mine")
//	if err != nil { … }
//	err = sandbox.New(sandbox.Options{Real: r, Topology: recording.Topology, …}).Run(ctx, nil)
type Real struct {
	// Config says where they are, and with whose credentials.
	Config *vcenter.Config
	// Source is the file that Config was read from; empty for the environment. It is kept, without what is in it, where
	// something may be written, for those who take it back when this process cannot any more.
	Source string
	// Selection says which of their VMs the sandbox is about; the zero value means all.
	Selection inventory.Selection
	// Nodes are patterns of the names of VMs that are to be nodes, ControlPlane of those that are to be control plane
	// nodes. Default for Nodes: every VM that reports a hostname and is no template.
	Nodes, ControlPlane []string
	// Scope is which VMs may be written to. The zero value is none.
	Scope scope.Scope
	// Keep leaves what was written as it is when the sandbox stops, in place of taking it back.
	Keep bool
}

// Read connects to the vCenters, reads the chosen VMs and makes the topology of them that is to be [Options.Topology]: its
// roles say which of them are nodes. name is the topology's. What is wrong with the connections, certificates and
// credentials among them, is told here, before there is a sandbox.
func (r *Real) Read(ctx context.Context, name string) (*record.Recording, error) {
	if err := r.Scope.Check(); err != nil {
		return nil, err
	}
	var connections []*vcenter.Connection
	defer func() {
		for _, c := range connections {
			c.Close()
		}
	}()
	for _, v := range r.named() {
		c, err := v.Connect(ctx, vcenter.Options{UserAgent: userAgent})
		if err != nil {
			return nil, err
		}
		connections = append(connections, c)
	}
	return record.Record(ctx, connections, record.Options{
		Name: name, Selection: r.Selection, Nodes: r.Nodes, ControlPlane: r.ControlPlane,
		Categories: inventory.Categories{
			Region: cmp.Or(r.Config.Region, vcenter.DefaultRegion), Zone: cmp.Or(r.Config.Zone, vcenter.DefaultZone),
		},
	})
}

// userAgent is what the sandbox calls itself at vCenters.
const userAgent = "vsphere-sandbox"
