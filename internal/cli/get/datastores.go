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

// NewCmdDatastores returns the command; runF, when not nil, runs in its place.
func NewCmdDatastores(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	return newCmd(d, resource[api.Datastore]{
		kind: func(time.Time) output.Kind[api.Datastore] { return tables.Datastores() },
		list: (*api.Client).Datastores,
		names: func(ds api.Datastore) []string {
			return []string{ds.Name, ds.VCenter + "/" + ds.Name, ds.Path, ds.URL}
		},
		one: "datastore", many: "datastores",
		columns: "where they are, what they hold, and which zones reach\nthem. Name one as NAME, VCENTER/NAME, by its inventory path or its URL",
	}, "datastores", []string{"datastore", "ds"}, complete.Datastores(d), runF)
}
