package fault

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
)

type describeOptions struct {
	streams *iostreams.Streams
	name    string
	format  string
}

// NewCmdDescribe returns the command; runF, when not nil, runs in its place.
func NewCmdDescribe(d *command.Deps, runF func(context.Context, *describeOptions) error) *cobra.Command {
	o := &describeOptions{streams: d.Streams}
	if runF == nil {
		runF = runDescribe
	}
	cmd := &cobra.Command{
		Use:               "describe FAULT",
		Short:             "Tell what a fault does, and what can be said of it",
		Long:              "Tell what a fault does, what it happens to, what can be said of it, and where\npeople met it. It takes no sandbox.",
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
