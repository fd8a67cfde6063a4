// Package complete answers the shell's TAB with live names: sandboxes, and what is in the one that the command line so
// far is about.
//
// A completion that cannot be had is no completion: errors are dropped, and nothing takes longer than a person waits.
package complete

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// patience is how long a person may be kept waiting.
const patience = 2 * time.Second

// Func is what cobra asks for words; words that are on the line already are left out.
type Func = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// Sandboxes completes names of sandboxes.
func Sandboxes(d *command.Deps) Func {
	return Of(func(ctx context.Context) (names []string, err error) {
		all, err := d.Sandboxes.List(ctx)
		for _, s := range all {
			names = append(names, s.Name)
		}
		return names, err
	})
}

// VMs completes names of VMs.
func VMs(d *command.Deps) Func {
	return live(d, (*api.Client).VMs, func(v api.VM) string { return v.Name })
}

// Nodes completes names of nodes.
func Nodes(d *command.Deps) Func {
	return live(d, (*api.Client).Nodes, func(n api.Node) string { return n.Name })
}

// VCenters completes names of vCenters.
func VCenters(d *command.Deps) Func {
	return live(d, (*api.Client).VCenters, func(v api.VCenter) string { return v.Name })
}

// Datacenters completes names of datacenters.
func Datacenters(d *command.Deps) Func {
	return live(d, (*api.Client).Datacenters, func(dc api.Datacenter) string { return dc.Name })
}

// Hosts completes names of hosts.
func Hosts(d *command.Deps) Func {
	return live(d, (*api.Client).Hosts, func(h api.Host) string { return h.Name })
}

// Zones completes names of zones.
func Zones(d *command.Deps) Func {
	return live(d, (*api.Client).Zones, func(z api.Zone) string { return z.Zone })
}

// Volumes completes names of volumes: that of the claim where there is one.
func Volumes(d *command.Deps) Func {
	return live(d, (*api.Client).Volumes, func(v api.Volume) string {
		if v.Claim != "" {
			return strings.TrimPrefix(v.Claim, "default/")
		}
		return v.Name
	})
}

// Datastores completes names of datastores.
func Datastores(d *command.Deps) Func {
	return live(d, (*api.Client).Datastores, func(ds api.Datastore) string { return ds.Name })
}

// NSX completes Services that the NSX Manager has objects of, and types of the other objects.
func NSX(d *command.Deps) Func {
	return live(d, (*api.Client).NSX, func(o api.NSXObject) string { return cmp.Or(o.Service, o.Type) })
}

// VirtualMachines completes names of VirtualMachines of the Supervisor.
func VirtualMachines(d *command.Deps) Func {
	return live(d, (*api.Client).VirtualMachines, func(m api.VirtualMachine) string { return m.Name })
}

// VirtualMachineServices completes names of VirtualMachineServices of the Supervisor.
func VirtualMachineServices(d *command.Deps) Func {
	return live(d, (*api.Client).VirtualMachineServices, func(v api.VirtualMachineService) string { return v.Name })
}

// Logs completes names of components that have a log.
func Logs(d *command.Deps) Func {
	return Of(func(ctx context.Context) ([]string, error) {
		s, err := d.Find(ctx)
		if err != nil {
			return nil, err
		}
		logs, err := d.Sandboxes.Logs(s.Name)
		var names []string
		for name := range logs {
			names = append(names, name)
		}
		slices.Sort(names)
		return names, err
	})
}

// EventKinds completes the kinds of events that the sandbox has logged.
func EventKinds(d *command.Deps) Func {
	return Of(func(ctx context.Context) (kinds []string, err error) {
		t, err := d.Connect(ctx)
		if err != nil {
			return nil, err
		}
		err = t.Client.Events(ctx, 0, false, func(e event.Event, _ uint64) error {
			if !slices.Contains(kinds, e.Kind) {
				kinds = append(kinds, e.Kind)
			}
			return nil
		})
		slices.Sort(kinds)
		return kinds, err
	})
}

// Once is f for commands that take one word only.
func Once(f Func) Func {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return f(cmd, args, typed)
	}
}

// Flag is f for the value of a flag, to which the arguments of the command are nothing.
func Flag(f Func) Func {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return f(cmd, nil, typed)
	}
}

// OneFile completes the name of a file, once.
func OneFile(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// None completes nothing, not even file names.
func None(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

func live[T any](d *command.Deps, list func(*api.Client, context.Context) ([]T, error), name func(T) string) Func {
	return Of(func(ctx context.Context) ([]string, error) {
		items, err := command.AskIt(ctx, d, list)
		var names []string
		for _, item := range items {
			if n := name(item); !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
		return names, err
	})
}

// Of completes the words that a function returns.
func Of(words func(context.Context) ([]string, error)) Func {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx := cmd.Context()
		if ctx == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		all, err := words(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return slices.DeleteFunc(all, func(w string) bool {
			return !strings.HasPrefix(w, typed) || slices.Contains(args, w)
		}), cobra.ShellCompDirectiveNoFileComp
	}
}

// Services completes Services of type LoadBalancer.
func Services(d *command.Deps) Func {
	return live(d, (*api.Client).Services, func(s api.Service) string { return strings.TrimPrefix(s.Name, "default/") })
}
