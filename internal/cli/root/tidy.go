package root

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
)

// tidy ends the processes that killed sandboxes left, and says so. Their files stay: the user who types the next command wants
// to know why one died. Every command does it first, but those that are there to look at the remains, that clean up themselves, or that
// have nothing to do with sandboxes.
func tidy(cmd *cobra.Command, d *command.Deps) error {
	top := cmd
	for top.HasParent() && top.Parent().HasParent() {
		top = top.Parent()
	}
	switch top.Name() {
	case "logs", "doctor", "up", "down", "version", "man", "completion", "help":
		return nil
	}
	if top.Hidden || !top.HasParent() {
		return nil
	}
	if _, err := d.Sandboxes.Root(); err != nil {
		return nil // where there is no place for sandboxes, none was left; a command that needs the place says so
	}
	settled, err := d.Sandboxes.Settle(cmd.Context())
	for _, s := range settled {
		fmt.Fprintln(d.Streams.Err, s)
	}
	if err != nil {
		// What the user asked for may work all the same.
		fmt.Fprintf(d.Streams.Err, "what a sandbox left that crashed could not be ended: %v\n", err)
	}
	return nil
}
