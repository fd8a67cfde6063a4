package fault

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// NewCmdFault returns the group of commands.
func NewCmdFault(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "fault",
		Short: "Break things on purpose, and put them right again",
		Long: `Break things on purpose, and put them right again: VMs, their guests and
identities, hosts, storage, tags, the vCenters' APIs, Kubernetes itself.

An injected fault is a lease. It ends when it is healed, after its --for, or
with the sandbox, and its targets are then as they were before. What cannot be
done is refused before anything is touched.`,
		Example: `  vsphere-sandbox fault list
  vsphere-sandbox fault inject vm.power-off worker-west-1 --for 1m
  vsphere-sandbox fault inject vcenter.latency --vcenter us --set client=ccm --set delay=2s
  vsphere-sandbox fault leases
  vsphere-sandbox fault heal --all`,
	},
		NewCmdList(d, nil), NewCmdDescribe(d, nil), NewCmdInject(d, nil), NewCmdHeal(d, nil), NewCmdLeases(d, nil),
	)
}

// refused is a refusal of the catalogue as an error of a command that was asked wrongly.
func refused(err error) error {
	var r *fault.Refusal
	if !errors.As(err, &r) {
		return err
	}
	return &report.Error{Code: r.Code, Message: r.Message, Try: r.Try, Exit: report.Usage}
}
