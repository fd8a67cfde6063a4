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

// NewCmdVMs returns the command; runF, when not nil, runs in its place.
func NewCmdVMs(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	return newCmd(d, resource[api.VM]{
		kind: func(time.Time) output.Kind[api.VM] { return tables.VMs() },
		list: (*api.Client).VMs,
		names: func(v api.VM) []string {
			return []string{v.Name, v.Hostname, v.VCenter + "/" + v.Name, v.Path}
		},
		one: "VM", many: "VMs",
		columns: "where they are, power state, guest tools and addresses, and the\nstate of the kubelet process that stands for the guest. Name one as NAME,\nHOSTNAME, VCENTER/NAME or by its inventory path",
	}, "vms", []string{"vm"}, complete.VMs(d), runF)
}
