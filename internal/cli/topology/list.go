package topology

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
	"github.com/vsphere-sandbox/vsphere-sandbox/scenarios"
)

type listOptions struct {
	streams *iostreams.Streams

	flags output.Flags
}

// NewCmdList returns the command; runF, when not nil, runs in its place.
func NewCmdList(d *command.Deps, runF func(*listOptions) error) *cobra.Command {
	o := &listOptions{streams: d.Streams}
	if runF == nil {
		runF = list
	}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the built-in topologies",
		Long: `List the built-in topologies. "up NAME" starts a sandbox with one; without
a name it takes zones-us-eu. -o wide and -o json show the parameters that --set
sets, with their defaults. "--set workers=5" sets workers-east, workers-west
and so on.

Scenarios are something else: a scenario breaks something and checks what
happens. "vsphere-sandbox scenario list" lists them.`,
		Example: `  vsphere-sandbox topology list
  vsphere-sandbox topology list -o wide`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE:              func(*cobra.Command, []string) error { return runF(o) },
	}
	o.flags.Bind(cmd)
	return cmd
}

// listed is a line of the list.
type listed struct {
	Name        string          `json:"name"`
	Default     bool            `json:"default,omitempty"`
	Description string          `json:"description,omitempty"`
	Counts      topology.Counts `json:"counts"`
	// Parameters are what --set sets.
	Parameters []topology.Parameter `json:"parameters,omitempty"`
}

func list(o *listOptions) error {
	var all []listed
	for _, name := range scenarios.Names() {
		t, err := scenarios.Load(name)
		if err != nil {
			return err
		}
		data, err := scenarios.Read(name)
		if err != nil {
			return err
		}
		parameters, err := topology.Declared(data)
		if err != nil {
			return err
		}
		all = append(all, listed{Parameters: parameters, Name: name, Default: name == scenarios.Default, Description: t.Metadata.Description, Counts: t.Count()})
	}
	type column = output.Column[listed]
	return output.List(o.streams.Out, o.flags, output.Kind[listed]{
		Name: "Topology",
		Ref:  func(l listed) string { return "topology/" + l.Name },
		Columns: []column{
			{Header: "NAME", Value: func(l listed) string { return l.Name }},
			{Header: "VCENTERS", Value: func(l listed) string { return strconv.Itoa(l.Counts.VCenters) }},
			{Header: "NODES", Value: func(l listed) string { return strconv.Itoa(l.Counts.Nodes) }},
			{Header: "DATACENTERS", Wide: true, Value: func(l listed) string { return strconv.Itoa(l.Counts.Datacenters) }},
			{Header: "HOSTS", Wide: true, Value: func(l listed) string { return strconv.Itoa(l.Counts.Hosts) }},
			{Header: "VMS", Wide: true, Value: func(l listed) string { return strconv.Itoa(l.Counts.VMs) }},
			{Header: "PARAMETERS", Wide: true, Value: func(l listed) string {
				texts := make([]string, len(l.Parameters))
				for i, p := range l.Parameters {
					texts[i] = p.Name + "=" + string(p.Default)
				}
				return strings.Join(texts, ",")
			}},
			{Header: "DESCRIPTION", Cut: true, Value: func(l listed) string { return l.Description }},
		},
	}, all)
}
