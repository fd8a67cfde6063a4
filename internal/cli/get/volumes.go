package get

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tables"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// NewCmdVolumes returns the command; runF, when not nil, runs in its place.
func NewCmdVolumes(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	return newCmd(d, resource[api.Volume]{
		kind: func(time.Time) output.Kind[api.Volume] { return tables.Volumes() },
		list: (*api.Client).Volumes,
		names: func(v api.Volume) []string {
			_, claim, _ := strings.Cut(v.Claim, "/")
			return []string{v.Name, v.Claim, claim, v.Handle}
		},
		one: "volume", many: "volumes",
		columns: "claim, PersistentVolume, datastore, VM, node and pods,\nthe state, and what it waits for. Name one by its claim, its PersistentVolume or\nits id in CNS",
	}, "volumes", []string{"volume", "pv", "pvc"}, complete.Volumes(d), runF)
}
