package env

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
)

type options struct {
	streams *iostreams.Streams
	connect func(context.Context) (*command.Target, error)

	shell   string
	vcenter string
	unset   bool
	format  string
	// line is the command as the user would type it again.
	line string
}

// NewCmdEnv returns the command; runF, when not nil, runs in its place.
func NewCmdEnv(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, connect: d.Connect}
	if runF == nil {
		runF = run
	}
	var known []string
	for _, s := range shells() {
		known = append(known, s.name)
	}
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Print the variables for your own kubectl and govc",
		Long: `Print shell commands that point your own kubectl and govc at a sandbox:
KUBECONFIG, GOVC_URL, GOVC_USERNAME, GOVC_PASSWORD, GOVC_TLS_CA_CERTS, and
GOVC_DATACENTER where the vCenter has only one. Without --vcenter the first
vCenter is chosen.`,
		Example: `  eval "$(vsphere-sandbox env)"
  vsphere-sandbox env --shell fish --vcenter eu | source
  eval "$(vsphere-sandbox env --unset)"`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.shell != "" && shellOf(o.shell).name != o.shell {
				return report.UsageError("--shell "+strings.Join(known, "|"), "--shell %s: there are lines for %s", o.shell, strings.Join(known, ", "))
			}
			o.line = line(d, o)
			if o.shell == "" {
				o.shell = d.Getenv("SHELL")
			}
			return runF(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.shell, "shell", "", "whose syntax: "+strings.Join(known, ", ")+" (default: that of $SHELL)")
	f.StringVar(&o.vcenter, "vcenter", "", "the `VCENTER` that govc is to talk to")
	f.BoolVar(&o.unset, "unset", false, "print what unsets the variables again")
	output.BindFormat(cmd, &o.format, output.JSON, output.YAML)
	// Cannot fail: the flags were added in the lines above.
	_ = cmd.RegisterFlagCompletionFunc("shell", cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("vcenter", complete.Flag(complete.VCenters(d)))
	return cmd
}

func line(d *command.Deps, o *options) string {
	words := []string{command.Program, "env"}
	for _, f := range []struct{ name, value string }{{"name", d.NameFlag}, {"shell", o.shell}, {"vcenter", o.vcenter}} {
		if f.value != "" {
			words = append(words, "--"+f.name, f.value)
		}
	}
	if o.unset {
		words = append(words, "--unset")
	}
	return strings.Join(words, " ")
}

func run(ctx context.Context, o *options) error {
	sh := shellOf(o.shell)
	if o.unset { // no sandbox need be left for that
		var b strings.Builder
		for _, name := range Names() {
			fmt.Fprintln(&b, sh.unset(name, ""))
		}
		_, err := io.WriteString(o.streams.Out, b.String())
		return err
	}
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	vars, vcenters, err := Vars(ctx, t, o.vcenter)
	if err != nil {
		return err
	}
	if o.format != output.Text {
		m := map[string]string{}
		for _, v := range vars {
			m[v.Name] = v.Value
		}
		return output.Object(o.streams.Out, o.format, "Environment", map[string]any{
			"sandbox": t.Name, "vcenter": vcenters[0], "variables": m,
		})
	}
	var b strings.Builder
	b.WriteString(Lines(o.shell, vars))
	if len(vcenters) > 1 && o.vcenter == "" {
		fmt.Fprintf(&b, "# govc talks to vCenter %s; --vcenter chooses another: %s\n", vcenters[0], strings.Join(vcenters[1:], ", "))
	}
	fmt.Fprintf(&b, "# To have it take effect, run this:\n#   %s\n", sh.eval(o.line))
	_, err = io.WriteString(o.streams.Out, b.String())
	return err
}
