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

// NewCmdZones returns the command; runF, when not nil, runs in its place.
func NewCmdZones(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	return newCmd(d, resource[api.Zone]{
		kind: func(time.Time) output.Kind[api.Zone] { return tables.Zones() },
		list: (*api.Client).Zones,
		names: func(z api.Zone) []string {
			return []string{z.Zone, z.Region + "/" + z.Zone}
		},
		one: "zone", many: "zones",
		columns: "the failure domains, each a region and zone with what is in it.\nName one as ZONE or REGION/ZONE",
	}, "zones", []string{"zone"}, complete.Zones(d), runF)
}
