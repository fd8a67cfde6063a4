package root

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
)

// tidy clears away what sandboxes that were killed have left behind, and says so. Every command does it first, but those
// that are there to look at the remains, that clean up by themselves, or that have nothing to do with sandboxes.
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
	cleared, err := d.Sandboxes.Reap(cmd.Context())
	for _, c := range cleared {
		fmt.Fprintf(d.Streams.Err, "a sandbox did not end by itself and was cleaned up: %s\n", c)
	}
	if err != nil {
		// What the user asked for may work all the same.
		fmt.Fprintf(d.Streams.Err, "a sandbox did not end by itself and could not be cleaned up: %v\n", err)
	}
	return nil
}
