package vm

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// NewCmdDestroy returns the command; runF, when not nil, runs in its place.
func NewCmdDestroy(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	cmd, _ := newCmd(d, api.Destroy, "Destroy VMs, powering them off first",
		"Destroy VMs, powering them off first. The cloud controller manager then removes\ntheir nodes. It asks before it does so; where nobody can be asked, --yes is\nrequired.", runF)
	return cmd
}

// confirm asks the user; no is not an error.
func (o *options) confirm(ctx context.Context) (bool, error) {
	question := fmt.Sprintf("Destroy VM %s?", strings.Join(o.vms, ", "))
	ok, err := o.streams.Confirm(ctx, question+" This cannot be undone.")
	if err == nil && !ok {
		fmt.Fprintln(o.streams.Err, "nothing was done")
	}
	return ok, err
}
