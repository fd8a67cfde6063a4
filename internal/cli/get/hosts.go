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

// NewCmdHosts returns the command; runF, when not nil, runs in its place.
func NewCmdHosts(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	return newCmd(d, resource[api.Host]{
		kind: func(time.Time) output.Kind[api.Host] { return tables.Hosts() },
		list: (*api.Client).Hosts,
		names: func(h api.Host) []string {
			return []string{h.Name, h.VCenter + "/" + h.Name}
		},
		one: "host", many: "hosts",
		columns: "where they are, their connection and power state.\nName one as NAME or VCENTER/NAME",
	}, "hosts", []string{"host"}, complete.Hosts(d), runF)
}
