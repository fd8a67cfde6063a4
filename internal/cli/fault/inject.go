package fault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/confirm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tables"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
)

type injectOptions struct {
	streams *iostreams.Streams
	connect func(context.Context) (*command.Target, error)

	request  api.InjectRequest
	duration time.Duration
	settings []string
	asking   confirm.Flags
	format   string
}

// NewCmdInject returns the command; runF, when not nil, runs in its place.
func NewCmdInject(d *command.Deps, runF func(context.Context, *injectOptions) error) *cobra.Command {
	o := &injectOptions{streams: d.Streams, connect: d.Connect}
	runF = command.Or(runF, runInject)
	cmd := &cobra.Command{
		Use:   "inject FAULT [TARGET]...",
		Short: "Inject a fault, for a time or until it is healed",
		Long: `Inject a fault, for a time (--for) or until it is healed.

TARGET is a NAME, HOSTNAME, VCENTER/NAME or inventory path, with * and ? as
wildcards; every match is a target. Or select targets by place (--zone, --host
and so on). If more than one matches, --mode says how many to use: one, all, a
number or a percentage. --seed makes the random choice repeatable.

--dry-run prints the targets and changes nothing. Before VMs of a real vCenter
change, the command asks and shows how each change is undone; --yes skips the
question. It returns when the fault is active.`,
		Example: `  vsphere-sandbox fault inject vm.power-off worker-west-1 --for 1m
  vsphere-sandbox fault inject host.crash --zone us-west --mode 1
  vsphere-sandbox fault inject guest.tools-stopped --role worker --mode 50% --seed 7 --dry-run
  vsphere-sandbox fault inject vcenter.soap-fault us --set client=ccm --set fault=NoPermission`,
		Args:              command.AtLeastOne("FAULT"),
		ValidArgsFunction: completeTargets(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.complete(args); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
	}
	f, on := cmd.Flags(), &o.request.On
	for _, p := range []struct {
		name  string
		value *string
		usage string
		words complete.Func
	}{
		{"vcenter", &on.VCenter, "only targets of this `VCENTER`", complete.VCenters(d)},
		{"datacenter", &on.Datacenter, "only targets in this `DATACENTER`", complete.Datacenters(d)},
		{"cluster", &on.Cluster, "only targets in this compute `CLUSTER`", complete.None},
		{"host", &on.Host, "only targets on this `HOST`", complete.Hosts(d)},
		{"region", &on.Region, "only targets in this `REGION`", complete.None},
		{"zone", &on.Zone, "only targets in this `ZONE`", complete.Zones(d)},
		{"role", &on.Role, "only targets of nodes of this `ROLE`: control-plane or worker", cobra.FixedCompletions([]string{"control-plane", "worker"}, cobra.ShellCompDirectiveNoFileComp)},
	} {
		f.StringVar(p.value, p.name, "", p.usage)
		// Cannot fail: the flag was added in the line above.
		_ = cmd.RegisterFlagCompletionFunc(p.name, complete.Flag(p.words))
	}
	f.StringVarP(&on.Labels, "selector", "l", "", "only targets of nodes with these labels (kubectl syntax)")
	f.StringVar(&o.request.Mode, "mode", "", "how many of the selected targets: one, all, a number or a percentage")
	f.DurationVar(&o.duration, "for", 0, "heal the fault after this time (30s, 5m)")
	f.Uint64Var(&o.request.Seed, "seed", 0, "seed of the random choice of targets (default: random)")
	f.StringArrayVar(&o.settings, "set", nil, "set a parameter of the fault, `NAME=VALUE`; see fault describe")
	f.BoolVar(&o.request.DryRun, "dry-run", false, "print what would be done, and exit")
	o.asking.Bind(cmd)
	_ = cmd.RegisterFlagCompletionFunc("set", completeSettings)
	_ = cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions([]string{"one", "all"}, cobra.ShellCompDirectiveNoFileComp))
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML, output.Names)
	return cmd
}

// complete checks what the catalogue alone can tell, and makes the request.
func (o *injectOptions) complete(args []string) error {
	k, err := catalogue.Find(args[0])
	if err != nil {
		return refused(err)
	}
	o.request.Fault, o.request.On.Names = k.Name, args[1:]
	if o.request.Params, err = settings(k, o.settings); err != nil {
		return err
	}
	if err := fault.CheckMode(o.request.Mode); err != nil {
		return refused(err)
	}
	switch {
	case o.duration < 0:
		return report.UsageError("--for 30s", "--for %s is negative", o.duration)
	case o.duration > 0 && k.Momentary:
		return report.UsageError("leave --for out", "%s happens once and has no duration", k.Name)
	}
	o.request.For = api.Duration(o.duration)
	return nil
}

func runInject(ctx context.Context, o *injectOptions) error {
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	lease, err := confirm.Do(ctx, o.streams, o.asking, func(consent confirm.Consent) (api.Lease, error) {
		r := o.request
		r.Confirmed, r.Seed = consent.Confirmed && !r.DryRun, cmp.Or(r.Seed, consent.Seed)
		return command.Do(ctx, t, func(c *api.Client, ctx context.Context) (api.Lease, error) { return c.Inject(ctx, r) })
	})
	if errors.Is(err, confirm.ErrDeclined) {
		return nil
	}
	if err != nil {
		return err
	}
	return o.print(lease)
}

// print prints the lease, or the plan for one.
func (o *injectOptions) print(l api.Lease) error {
	switch o.format {
	case output.JSON, output.YAML:
		return output.Object(o.streams.Out, o.format, "Lease", l)
	case output.Names:
		if l.ID != "" {
			fmt.Fprintln(o.streams.Out, "lease/"+l.ID)
		}
		return nil
	}
	return printLease(o.streams, l, o.request.DryRun)
}

type healOptions struct {
	streams *iostreams.Streams
	deps    *command.Deps
	connect func(context.Context) (*command.Target, error)

	request api.HealRequest
	format  string
}

// NewCmdHeal returns the command; runF, when not nil, runs in its place.
func NewCmdHeal(d *command.Deps, runF func(context.Context, *healOptions) error) *cobra.Command {
	o := &healOptions{streams: d.Streams, deps: d, connect: d.Connect}
	runF = command.Or(runF, runHeal)
	cmd := &cobra.Command{
		Use:   "heal LEASE... | --all",
		Short: "Heal faults: undo what they changed",
		Long: `Heal faults: undo what they changed, and return when that is done. Healing a
fault again does nothing. If a fault cannot be healed now, the sandbox retries
as long as it runs.`,
		Example: `  vsphere-sandbox fault heal f1 f2
  vsphere-sandbox fault heal --all`,
		ValidArgsFunction: completeLeases(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.request.IDs = args
			switch {
			case o.request.All && len(args) > 0:
				return report.UsageError(command.Program+" fault heal --all", "heal takes leases or --all, not both")
			case !o.request.All && len(args) == 0:
				return report.UsageError(command.Program+" fault leases", "heal needs a LEASE, or --all")
			}
			return runF(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.request.All, "all", false, "heal all active faults")
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML, output.Names)
	return cmd
}

func runHeal(ctx context.Context, o *healOptions) error {
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	leases, err := command.Do(ctx, t, func(c *api.Client, ctx context.Context) ([]api.Lease, error) { return c.Heal(ctx, o.request) })
	if err != nil {
		return err
	}
	if o.format != output.Text {
		return output.List(o.streams.Out, output.Flags{Format: o.format}, tables.Leases(o.deps.Now()), leases)
	}
	for _, l := range leases {
		note := "healed"
		if l.Note != "" {
			note = l.Note
		}
		fmt.Fprintf(o.streams.Out, "%s: %s %s\n", l.ID, l.Fault, printable.Line(note))
	}
	if len(leases) == 0 {
		fmt.Fprintln(o.streams.Err, "no active faults")
	}
	return nil
}
