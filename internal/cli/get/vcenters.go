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

// NewCmdVCenters returns the command; runF, when not nil, runs in its place.
func NewCmdVCenters(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	return newCmd(d, resource[api.VCenter]{
		kind: func(time.Time) output.Kind[api.VCenter] { return tables.VCenters() },
		list: (*api.Client).VCenters,
		names: func(v api.VCenter) []string {
			return []string{v.Name}
		},
		one: "vCenter", many: "vCenters",
		columns: "what clients get of them, whether the sandbox's own view is\ncurrent, what they hold, how many calls they were asked, and whether they are\nsimulated or real",
	}, "vcenters", []string{"vcenter", "vc"}, complete.VCenters(d), runF)
}
