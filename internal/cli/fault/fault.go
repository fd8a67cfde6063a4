package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tables"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
)

// NewCmdFault returns the group of commands.
func NewCmdFault(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "fault",
		Short: "Inject faults and heal them",
		Long: `Inject faults into VMs, guests, identities, hosts, storage, tags, vCenter APIs
and Kubernetes, and heal them.

An injected fault is a lease. It ends when you heal it, after --for, or with the
sandbox; its targets are then as they were before. A fault that cannot be
injected is refused before anything changes.`,
		Example: `  vsphere-sandbox fault list
  vsphere-sandbox fault inject vm.power-off worker-west-1 --for 1m
  vsphere-sandbox fault inject vcenter.latency --vcenter us --set client=ccm --set delay=2s
  vsphere-sandbox fault leases
  vsphere-sandbox fault heal --all`,
	},
		NewCmdList(d, nil), NewCmdDescribe(d, nil), NewCmdInject(d, nil), NewCmdHeal(d, nil), NewCmdLeases(d, nil),
	)
}

// refused is a refusal of the catalogue as an error of a command that was asked wrongly.
func refused(err error) error {
	var r *fault.Refusal
	if !errors.As(err, &r) {
		return err
	}
	return &report.Error{Code: r.Code, Message: r.Message, Try: r.Try, Exit: report.Usage}
}

// settings reads the values of --set for a kind. What the kind does not know is refused here, before a sandbox is asked;
// the values themselves are for the sandbox to judge.
func settings(k *fault.Kind, given []string) (map[string]string, error) {
	values := map[string]string{}
	for _, s := range given {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return nil, report.UsageError(command.Program+" fault describe "+k.Name, "--set %q is not NAME=VALUE", s)
		}
		if _, twice := values[name]; twice {
			return nil, report.UsageError("--set "+s, "--set %s is given twice", name)
		}
		values[name] = value
	}
	if err := k.Check(values); err != nil {
		return nil, refused(err)
	}
	return values, nil
}

// completeKinds completes the name of a kind.
func completeKinds(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var words []string
	for _, k := range catalogue.Kinds() {
		if strings.HasPrefix(k.Name, typed) {
			words = append(words, cobra.CompletionWithDesc(k.Name, k.Short))
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// completeSettings completes NAME= and, of parameters with few values, NAME=VALUE.
func completeSettings(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	if len(args) == 0 {
		return nil, directive
	}
	k, err := catalogue.Find(args[0])
	if err != nil {
		return nil, directive
	}
	name, value, chosen := strings.Cut(typed, "=")
	var words []string
	for _, p := range k.Params {
		switch {
		case !chosen && strings.HasPrefix(p.Name, name):
			words = append(words, cobra.CompletionWithDesc(p.Name+"=", p.Short))
		case chosen && p.Name == name:
			choices := p.Choices
			if p.Type == fault.Bool {
				choices = []string{"true", "false"}
			}
			for _, c := range begins(choices, value) {
				words = append(words, name+"="+c)
			}
		}
	}
	return words, directive
}

func begins(words []string, typed string) []string {
	var found []string
	for _, w := range words {
		if strings.HasPrefix(w, typed) {
			found = append(found, w)
		}
	}
	return found
}

// printLease prints a new lease, or the plan for one: a line, and one for each target.
func printLease(streams *iostreams.Streams, l api.Lease, plan bool) error {
	var b strings.Builder
	switch {
	case plan:
		fmt.Fprintf(&b, "%s would be injected, with seed %d; nothing was done\n", l.Fault, l.Seed)
	case l.State == "healed":
		fmt.Fprintf(&b, "%s: %s happened\n", l.ID, l.Fault)
	default:
		fmt.Fprintf(&b, "%s: %s injected%s\n", l.ID, l.Fault, until(l))
	}
	for _, t := range l.Targets {
		fmt.Fprintf(&b, "  %s %s: %s\n", t.Kind, tables.LeaseTarget(t), t.Does)
	}
	if _, err := fmt.Fprint(streams.Out, printable.Lines(b.String())); err != nil {
		return err
	}
	if !plan && l.State != "healed" {
		fmt.Fprintf(streams.Err, "heal it with: %s fault heal %s\n", command.Program, l.ID)
	}
	return nil
}

// until is how long it lasts.
func until(l api.Lease) string {
	if l.Until == nil {
		return ""
	}
	return " for " + l.Until.Sub(l.Since).Round(time.Millisecond).String()
}

type describeOptions struct {
	streams *iostreams.Streams
	name    string
	format  string
}

// NewCmdDescribe returns the command; runF, when not nil, runs in its place.
func NewCmdDescribe(d *command.Deps, runF func(context.Context, *describeOptions) error) *cobra.Command {
	o := &describeOptions{streams: d.Streams}
	runF = command.Or(runF, runDescribe)
	cmd := &cobra.Command{
		Use:               "describe FAULT",
		Short:             "Show what a fault does and which parameters it has",
		Long:              "Show what a fault does, its targets and parameters, and the issues where people\nreported it. No sandbox is needed.",
		Example:           "  vsphere-sandbox fault describe vcenter.latency",
		Args:              command.ExactlyOne("FAULT"),
		ValidArgsFunction: completeKinds,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			return runF(cmd.Context(), o)
		},
	}
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML, output.Names)
	return cmd
}

func runDescribe(_ context.Context, o *describeOptions) error {
	k, err := catalogue.Find(o.name)
	if err != nil {
		return refused(err)
	}
	switch o.format {
	case output.JSON, output.YAML:
		return output.Object(o.streams.Out, o.format, "Fault", newKind(themeOf(k.Name), k))
	case output.Names:
		_, err := fmt.Fprintln(o.streams.Out, "fault/"+k.Name)
		return err
	}
	_, err = fmt.Fprint(o.streams.Out, text(k))
	return err
}

func themeOf(name string) string {
	for _, t := range catalogue.Themes() {
		for _, k := range t.Kinds {
			if k.Name == name {
				return t.Name
			}
		}
	}
	return ""
}

// text is a kind as people read it.
func text(k *fault.Kind) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s.\n", k.Name, k.Short)
	if long := strings.TrimSpace(k.Long); long != "" {
		fmt.Fprintf(&b, "\n%s\n", long)
	}
	fmt.Fprintf(&b, "\nHappens to:  %s\n", k.Object)
	if len(k.Needs) > 0 {
		fmt.Fprintf(&b, "Takes:       %s\n", catalogue.Needs(k))
	}
	if k.Momentary {
		b.WriteString("Ends:        as soon as it has happened\n")
	}
	for i, r := range k.Reported {
		head := "             "
		if i == 0 {
			head = "Reported:    "
		}
		if u := catalogue.URL(r); u != "" {
			r = u
		}
		b.WriteString(head + r + "\n")
	}
	if len(k.Params) > 0 {
		b.WriteString("\nParameters (--set NAME=VALUE):\n")
		width := 0
		for _, p := range k.Params {
			width = max(width, len(p.Name)+len(p.Type)+3)
		}
		for _, p := range k.Params {
			fmt.Fprintf(&b, "  %-*s   %s%s\n", width, p.Name+" ("+string(p.Type)+")", p.Short, more(p))
		}
	}
	fmt.Fprintf(&b, "\nExample:\n  %s\n", example(k))
	return b.String()
}

// more is what else there is to know of a parameter.
func more(p fault.Param) string {
	var words []string
	if len(p.Choices) > 0 {
		words = append(words, strings.Join(p.Choices, " or "))
	}
	switch {
	case p.Required:
		words = append(words, "required")
	case p.Default != "":
		words = append(words, "default "+p.Default)
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, "; ") + ")"
}

// example is a command that injects a kind into what "up" boots.
func example(k *fault.Kind) string {
	target := map[fault.Object]string{
		fault.VM: " worker-west-1", fault.Node: " worker-west-1", fault.Host: " esx-west-1", fault.Datastore: " dcwest-ds", fault.Datacenter: " dcwest",
		fault.Cluster: " west", fault.Zone: " us-west", fault.VCenter: " us", fault.Component: " csi-attacher",
		fault.Volume: " data-web-0",
	}[k.Object]
	var line strings.Builder
	line.WriteString(command.Program + " fault inject " + k.Name + target)
	for _, p := range k.Params {
		if p.Required {
			value := strings.ToUpper(p.Name)
			if len(p.Choices) > 0 {
				value = p.Choices[0]
			}
			line.WriteString(" --set " + p.Name + "=" + value)
		}
	}
	if !k.Momentary {
		line.WriteString(" --for 1m")
	}
	return line.String()
}
