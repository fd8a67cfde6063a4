package fault

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
)

// completeTargets completes the name of a kind, and then of what it happens to.
func completeTargets(d *command.Deps) complete.Func {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return completeKinds(cmd, args, typed)
		}
		k, err := catalogue.Find(args[0])
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names := map[fault.Object]complete.Func{
			fault.VM: complete.VMs(d), fault.Node: complete.Nodes(d), fault.Host: complete.Hosts(d), fault.Zone: complete.Zones(d),
			fault.Datacenter: complete.Datacenters(d), fault.VCenter: complete.VCenters(d), fault.Component: components(d),
			fault.Volume: complete.Volumes(d), fault.Datastore: complete.Datastores(d),
		}[k.Object]
		if names == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(cmd, args[1:], typed)
	}
}

// components completes names of components.
func components(d *command.Deps) complete.Func {
	return live(d, func(ctx context.Context, t *command.Target) ([]string, error) {
		status, err := t.Client.Status(ctx)
		var names []string
		for _, c := range status.Components {
			names = append(names, c.Name)
		}
		return names, err
	})
}

// completeLeases completes leases that can be healed.
func completeLeases(d *command.Deps) complete.Func {
	return live(d, func(ctx context.Context, t *command.Target) ([]string, error) {
		leases, err := t.Client.Leases(ctx)
		var ids []string
		for _, l := range slices.DeleteFunc(leases, healed) {
			ids = append(ids, cobra.CompletionWithDesc(l.ID, l.Fault))
		}
		return ids, err
	})
}

// live completes what a sandbox says, unless that takes longer than a person waits.
func live(d *command.Deps, words func(context.Context, *command.Target) ([]string, error)) complete.Func {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
		defer cancel()
		t, err := d.Connect(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, err := words(ctx, t)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return slices.DeleteFunc(all, func(w string) bool {
			name, _, _ := strings.Cut(w, "\t")
			return !strings.HasPrefix(name, typed) || slices.Contains(args, name)
		}), cobra.ShellCompDirectiveNoFileComp
	}
}
