// Package real provides the real vCenters of a sandbox, and decides what may be done to them: nothing is written to a VM that
// is not in the scope, and what was written is reverted when the sandbox ends.
//
// Floor 3.
package real

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/vcenters"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/inventory"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/record"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/scope"
)

// Options choose real vCenters as the inventory of a sandbox. Config is mandatory.
//
//	r := &real.Options{Config: config, Selection: inventory.Selection{Folders: []string{"k8s/test"}}}
//	recording, err := r.Read(ctx, "mine")
//	if err != nil { … }
//	err = sandbox.New(sandbox.Options{Real: r, Topology: recording.Topology, …}).Run(ctx, nil)
type Options struct {
	// Config has the addresses and credentials.
	Config *vcenter.Config
	// Source is the file that Config was read from; "" for the environment. Where writes are allowed its name is saved, so
	// that another process can revert them.
	Source string
	// Selection chooses VMs; the zero value chooses all.
	Selection inventory.Selection
	// Nodes are patterns of the names of VMs that are nodes, ControlPlane of those that are control plane nodes. Default for
	// Nodes: every VM that reports a hostname and is no template.
	Nodes, ControlPlane []string
	// Scope is which VMs may be written to. The zero value is none.
	Scope scope.Scope
	// Keep leaves what was written when the sandbox stops; the default is to revert it.
	Keep bool
}

// Read connects to the vCenters, reads the chosen VMs and returns their topology, which is [sandbox.Options.Topology]: its
// roles are those of the nodes. name is the topology's. Errors of connections, certificates and credentials are returned
// here, before there is a sandbox.
func (r *Options) Read(ctx context.Context, name string) (*record.Recording, error) {
	if err := r.Scope.Check(); err != nil {
		return nil, err
	}
	var connections []*vcenter.Connection
	defer func() {
		for _, c := range connections {
			c.Close()
		}
	}()
	for _, v := range named(r.Config) {
		c, err := v.Connect(ctx, vcenter.Options{UserAgent: vcenters.UserAgent})
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

// named returns the vCenters with the names that a topology gives them: DNS labels, each unique.
func named(c *vcenter.Config) []vcenter.VCenter {
	taken := map[string]bool{}
	all := make([]vcenter.VCenter, len(c.VCenters))
	for i, v := range c.VCenters {
		label := cmp.Or(dnsLabel(v.Name), "vcenter")
		v.Name = label
		for n := 2; taken[v.Name]; n++ {
			v.Name = fmt.Sprintf("%s-%d", label, n)
		}
		taken[v.Name] = true
		all[i] = v
	}
	return all
}

// dnsLabel makes a DNS label of a name; "" when no character of the name can be part of one.
func dnsLabel(name string) string {
	label := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	const longest = 60 // a number may follow
	return strings.Trim(label[:min(len(label), longest)], "-")
}
