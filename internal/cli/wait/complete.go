package wait

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
)

// completeFor completes a condition part by part: what it is about, its name, its state.
func completeFor(d *command.Deps) complete.Func {
	names := map[string]complete.Func{"node": complete.Nodes(d), "vm": complete.VMs(d), "vcenter": complete.VCenters(d)}
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		const more = cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
		kind, rest, found := strings.Cut(typed, "/")
		if !found || names[kind] == nil {
			return []string{"ready", "initialized", "ccm=healthy", "node/", "vm/", "vcenter/"}, more
		}
		var words []string
		if object, _, found := strings.Cut(rest, "="); found {
			for _, state := range states(kind) {
				words = append(words, kind+"/"+object+"="+state)
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		}
		all, _ := names[kind](cmd, nil, "")
		for _, name := range all {
			words = append(words, kind+"/"+name+"=")
		}
		return words, more
	}
}
