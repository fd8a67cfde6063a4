package scenario

import (
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
)

// NewCmdScenario returns the group of commands.
func NewCmdScenario(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "scenario",
		Short: "Run what breaks a sandbox and judges what happens",
		Long: `Run scenarios: a topology, faults that are injected into it, and what must
happen, and must not, in between.

Scenarios come with the program, sorted in themes, or are files.`,
		Example: `  vsphere-sandbox scenario list
  vsphere-sandbox scenario run --suite core
  vsphere-sandbox scenario run lifecycle --artifacts results
  vsphere-sandbox scenario run mine.yaml --set workers=3`,
	},
		NewCmdList(d, nil), NewCmdShow(d, nil), NewCmdRun(d, nil), NewCmdValidate(d, nil), NewCmdRecord(d, nil), NewCmdSchema(d))
}
