package govc

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/vmware/govmomi/cli"
)

// completion completes govc's commands; it has no completion of its own for what comes after.
func completion(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return slices.Sorted(maps.Keys(cli.Commands())), cobra.ShellCompDirectiveNoFileComp
}
