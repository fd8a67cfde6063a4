package up

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ground"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/source"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/pace"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// plan says what up would build. YAML and JSON are the topology itself with every default filled in and every identity
// derived: a file that builds the same again.
func plan(ctx context.Context, o *options) error {
	if o.format == output.YAML || o.format == output.JSON {
		return source.Write(o.Streams.Out, o.format, o.topology)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Sandbox %q would have %s.\n\n", o.name, o.holds())
	if !o.ground.Watches && len(o.topology.Nodes()) > 0 {
		if err := output.List(&b, output.Flags{}, planned(), rows(o.topology)); err != nil {
			return err
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "At speed %g, where upstream's defaults are:\n", o.speed)
	for _, r := range pace.Table() {
		fmt.Fprintf(&b, "  %-24s %-55s %7s (%s)\n", r.Component, r.Setting[strings.LastIndex(r.Setting, ".")+1:], pace.Speed(o.speed).Of(r.Period), r.Upstream)
	}
	switch {
	case o.ground.Watches:
		planExisting(o, &b)
	case o.ground.Installs():
		planInCluster(o, &b)
	}
	if o.ground.Cluster == ground.Kind {
		if err := planKind(ctx, o, &b); err != nil {
			return err
		}
	}
	_, err := fmt.Fprint(o.Streams.Out, b.String())
	return err
}

// planKind says what would be done with kind.
func planKind(ctx context.Context, o *options, b *strings.Builder) error {
	root, err := o.Sandboxes.Root()
	if err != nil {
		return err
	}
	// What is fetched is left to the boot: a program that takes minutes to be built is not needed to say what it is.
	program := sandbox.CCM{Program: ccm.Program{Source: o.ccm.Source}}
	if source, err := ccm.Parse(o.ccm.Source); err == nil && source.Kind() != ccm.Builtin {
		program.Program.Path = o.ccm.Source
		if source.Kind() != ccm.File || o.ccm.Manifest != "" {
			program.Manifest = []byte(o.ccm.Manifest + "\n") // there will be one
		}
	}
	program.Watch = o.ccm.Watch
	volumes := sandbox.CSI{Enabled: true, Foreign: o.csi.Planned()}
	if volumes.Foreign == nil {
		var err error
		if volumes, err = o.csi.Resolve(ctx, o.Streams); err != nil {
			return err
		}
	}
	cluster, err := o.cluster(ctx)
	if err != nil {
		return err
	}
	config, steps, err := sandbox.KindPlan(ctx, sandbox.Options{
		Name: o.name, Topology: o.topology, Speed: pace.Speed(o.speed), Port: o.port, CCM: program, CSI: volumes, Cluster: cluster, Real: o.real,
	}, filepath.Join(root, o.name))
	if err != nil {
		return explainRun(o, err)
	}
	b.WriteString("\nOn kind it would:\n")
	for i, s := range steps {
		fmt.Fprintf(b, "  %2d. %s\n", i+1, s)
	}
	fmt.Fprintf(b, "\nwith this configuration of kind's:\n\n%s", config)
	return nil
}

// rows are the nodes as they should come to be.
func rows(t *topology.Topology) []api.Node {
	var list []api.Node
	for _, n := range t.Nodes() {
		place := t.Place(n)
		row := api.Node{
			Name: strings.ToLower(n.VM.Hostname), VM: n.VM.Name, VCenter: n.VCenter.Name, Datacenter: n.Datacenter.Name,
			Region: place.Region, Zone: place.Zone, ProviderID: "vsphere://" + strings.ToLower(n.VM.UUID),
			Roles: []string{string(n.VM.Role)},
		}
		for _, nic := range n.VM.NICs {
			for _, a := range nic.Addresses {
				ip, _, _ := strings.Cut(a, "/")
				row.Addresses = append(row.Addresses, ip)
			}
		}
		list = append(list, row)
	}
	return list
}

func planned() output.Kind[api.Node] {
	return output.Kind[api.Node]{
		Name: "Node",
		Ref:  func(n api.Node) string { return "node/" + n.Name },
		Columns: []output.Column[api.Node]{
			{Header: "NAME", Value: func(n api.Node) string { return n.Name }},
			{Header: "ROLE", Value: func(n api.Node) string { return strings.Join(n.Roles, ",") }},
			{Header: "VCENTER", Value: func(n api.Node) string { return n.VCenter }},
			{Header: "DATACENTER", Value: func(n api.Node) string { return n.Datacenter }},
			{Header: "REGION", Value: func(n api.Node) string { return n.Region }},
			{Header: "ZONE", Value: func(n api.Node) string { return n.Zone }},
			{Header: "ADDRESSES", Value: func(n api.Node) string { return strings.Join(n.Addresses, ",") }},
		},
	}
}
