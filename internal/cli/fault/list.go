package fault

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tables"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
)

// kind is a kind of fault as programs get it.
type kind struct {
	Name      string        `json:"name"`
	Theme     string        `json:"theme"`
	Short     string        `json:"short"`
	Long      string        `json:"long,omitempty"`
	Object    fault.Object  `json:"object"`
	Params    []fault.Param `json:"params,omitempty"`
	Needs     []fault.Need  `json:"needs,omitempty"`
	Momentary bool          `json:"momentary,omitempty"`
	Reported  []string      `json:"reported,omitempty"`
}

func newKind(theme string, k *fault.Kind) kind {
	return kind{
		Name: k.Name, Theme: theme, Short: k.Short, Long: k.Long, Object: k.Object, Params: k.Params, Needs: k.Needs,
		Momentary: k.Momentary, Reported: k.Reported,
	}
}

// kinds shows kinds of faults.
func kinds() output.Kind[kind] {
	type column = output.Column[kind]
	return output.Kind[kind]{
		Name: "Fault",
		Ref:  func(k kind) string { return "fault/" + k.Name },
		Columns: []column{
			{Header: "FAULT", Value: func(k kind) string { return k.Name }},
			{Header: "HAPPENS-TO", Value: func(k kind) string { return string(k.Object) }},
			{Header: "WHAT", Value: func(k kind) string { return k.Short }},
			{Header: "THEME", Wide: true, Value: func(k kind) string { return k.Theme }},
			{Header: "PARAMETERS", Wide: true, Value: func(k kind) string { return output.Join(paramNames(k.Params)) }},
			{Header: "NEEDS", Wide: true, Value: func(k kind) string {
				words := make([]string, len(k.Needs))
				for i, n := range k.Needs {
					words[i] = string(n)
				}
				return output.Join(words)
			}},
		},
	}
}

func paramNames(params []fault.Param) []string {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.Name
	}
	return names
}

type listOptions struct {
	streams *iostreams.Streams
	theme   string
	flags   output.Flags
}

// NewCmdList returns the command; runF, when not nil, runs in its place.
func NewCmdList(d *command.Deps, runF func(context.Context, *listOptions) error) *cobra.Command {
	o := &listOptions{streams: d.Streams}
	runF = command.Or(runF, runList)
	cmd := &cobra.Command{
		Use:   "list [THEME]",
		Short: "List the faults that can be injected",
		Long: `List the faults that can be injected, or those of one theme:
` + strings.Join(themeNames(), ", ") + `.

No sandbox is needed.`,
		Example: `  vsphere-sandbox fault list
  vsphere-sandbox fault list api -o wide`,
		Args: command.AtMostOne,
		ValidArgsFunction: func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return begins(themeNames(), typed), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.theme = args[0]
			}
			return runF(cmd.Context(), o)
		},
	}
	o.flags.Bind(cmd)
	return cmd
}

func runList(_ context.Context, o *listOptions) error {
	themes := catalogue.Themes()
	if o.theme != "" {
		t, err := catalogue.FindTheme(o.theme)
		if err != nil {
			return refused(err)
		}
		themes = []catalogue.Theme{t}
	}
	var all []kind
	for _, t := range themes {
		for _, k := range t.Kinds {
			all = append(all, newKind(t.Name, k))
		}
	}
	return output.List(o.streams.Out, o.flags, kinds(), all)
}

func themeNames() []string {
	var names []string
	for _, t := range catalogue.Themes() {
		names = append(names, t.Name)
	}
	return names
}

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
			fault.NSX: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return []string{api.NSXName}, cobra.ShellCompDirectiveNoFileComp
			},
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

type leasesOptions struct {
	streams *iostreams.Streams
	now     func() time.Time
	connect func(context.Context) (*command.Target, error)

	all   bool
	flags output.Flags
}

// NewCmdLeases returns the command; runF, when not nil, runs in its place.
func NewCmdLeases(d *command.Deps, runF func(context.Context, *leasesOptions) error) *cobra.Command {
	o := &leasesOptions{streams: d.Streams, now: d.Now, connect: d.Connect}
	runF = command.Or(runF, runLeases)
	cmd := &cobra.Command{
		Use:   "leases",
		Short: "List active faults",
		Long: `List active faults, and faults that could not be healed. With --all, also list
the last thousand healed faults.`,
		Example: `  vsphere-sandbox fault leases
  vsphere-sandbox fault leases --all -o wide`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
	}
	o.flags.Bind(cmd)
	cmd.Flags().BoolVarP(&o.all, "all", "a", false, "also list healed faults")
	return cmd
}

func runLeases(ctx context.Context, o *leasesOptions) error {
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	leases, err := command.Ask(ctx, t, (*api.Client).Leases)
	if err != nil {
		return err
	}
	if !o.all {
		leases = slices.DeleteFunc(leases, healed)
	}
	if len(leases) == 0 && o.flags.Format != output.JSON && o.flags.Format != output.YAML {
		fmt.Fprintln(o.streams.Err, "no active faults")
	}
	return output.List(o.streams.Out, o.flags, tables.Leases(o.now()), leases)
}

func healed(l api.Lease) bool { return l.State == "healed" }
