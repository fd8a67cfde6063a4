package get

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tables"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// NewCmdNodes returns the command; runF, when not nil, runs in its place.
func NewCmdNodes(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	return newCmd(d, resource[api.Node]{
		kind: tables.Nodes,
		list: (*api.Client).Nodes,
		names: func(n api.Node) []string {
			return []string{n.Name, n.VM}
		},
		one: "node", many: "nodes",
		columns: "each joined with its VM. A VM that should be a node and is none\nyet is Unregistered. Well-known taints are shown without their domain; -o json\nhas them whole. Name one by its own name or its VM's",
	}, "nodes", []string{"node", "no"}, complete.Nodes(d), runF)
}
