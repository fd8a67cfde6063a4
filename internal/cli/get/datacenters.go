package get

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tables"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// NewCmdDatacenters returns the command; runF, when not nil, runs in its place.
func NewCmdDatacenters(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	return newCmd(d, resource[api.Datacenter]{
		kind: func(time.Time) output.Kind[api.Datacenter] { return tables.Datacenters() },
		list: (*api.Client).Datacenters,
		names: func(dc api.Datacenter) []string {
			return []string{dc.Name, dc.VCenter + "/" + dc.Name, dc.Path}
		},
		one: "datacenter", many: "datacenters",
		columns: "their vCenter, region and zone, and what they hold.\nName one as NAME, VCENTER/NAME or by its inventory path",
	}, "datacenters", []string{"datacenter", "dc"}, complete.Datacenters(d), runF)
}
