package tutorial

import (
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
)

// NewCmdTutorial returns the group of commands.
func NewCmdTutorial(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:     "tutorial",
		Aliases: []string{"tutorials"},
		Short:   "Learn by doing: walk through a tutorial in this terminal",
		Long: `Walk through a tutorial in this terminal: its text is shown, its commands are
run, or typed by you in another terminal, and what they do is compared with what
the page says. Each takes ten minutes at most and leaves nothing behind.`,
		Example: `  vsphere-sandbox tutorial list
  vsphere-sandbox tutorial start 1`,
	}, NewCmdList(d, nil), NewCmdStart(d, nil), NewCmdStop(d, nil), NewCmdEnv(d, nil))
}
