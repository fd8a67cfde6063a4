package env

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
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
	runF = command.Or(runF, run)
	var known []string
	for _, s := range shells() {
		known = append(known, s.name)
	}
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Print the environment variables for your own kubectl and govc",
		Long: `Print shell commands that point your own kubectl and govc at a sandbox. They set
KUBECONFIG, GOVC_URL, GOVC_USERNAME, GOVC_PASSWORD, GOVC_TLS_CA_CERTS, and
GOVC_DATACENTER if the vCenter has only one. The default is the first vCenter.`,
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
	f.StringVar(&o.shell, "shell", "", "shell syntax: "+strings.Join(known, ", ")+" (default: that of $SHELL)")
	f.StringVar(&o.vcenter, "vcenter", "", "`VCENTER` for govc")
	f.BoolVar(&o.unset, "unset", false, "print commands that unset the variables")
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

// shell is how a kind of shell sets and unsets variables.
type shell struct {
	name       string
	set, unset func(name, value string) string
	// eval is what the user types to have a command's output take effect.
	eval func(command string) string
}

func shells() []shell {
	posix := func(name string) shell {
		return shell{
			name:  name,
			set:   func(n, v string) string { return "export " + n + "=" + quote(v, `'\''`) },
			unset: func(n, _ string) string { return "unset " + n },
			eval:  func(c string) string { return `eval "$(` + c + `)"` },
		}
	}
	return []shell{
		posix("bash"), posix("zsh"),
		{
			name:  "fish",
			set:   func(n, v string) string { return "set -gx " + n + " " + quote(strings.ReplaceAll(v, `\`, `\\`), `\'`) },
			unset: func(n, _ string) string { return "set -e " + n },
			eval:  func(c string) string { return c + " | source" },
		},
		{
			name:  "powershell",
			set:   func(n, v string) string { return "$Env:" + n + " = " + quote(v, `''`) },
			unset: func(n, _ string) string { return "Remove-Item -ErrorAction SilentlyContinue Env:" + n },
			eval:  func(c string) string { return "& " + c + " | Out-String | Invoke-Expression" },
		},
	}
}

// quote puts v in single quotes, where inner stands for a single quote.
func quote(v, inner string) string { return "'" + strings.ReplaceAll(v, "'", inner) + "'" }

// shellOf returns the shell of a name; of those not known, and of none, bash, whose words all but fish understand.
func shellOf(name string) shell {
	all := shells()
	for _, s := range all {
		if s.name == path.Base(name) {
			return s
		}
	}
	return all[0]
}

// Lines are the commands that set the variables in the shell of that name, and unset what another vCenter may have left.
// A kubeconfig is left alone: it may be the user's own.
func Lines(shell string, vars []Var) string {
	sh := shellOf(shell)
	var b strings.Builder
	for _, name := range Names() {
		if i := slices.IndexFunc(vars, func(v Var) bool { return v.Name == name }); i >= 0 {
			b.WriteString(sh.set(name, vars[i].Value) + "\n")
		} else if name != "KUBECONFIG" {
			b.WriteString(sh.unset(name, "") + "\n")
		}
	}
	return b.String()
}

// Var is an environment variable.
type Var struct{ Name, Value string }

// Names are the variables that are ever set.
func Names() []string {
	return []string{"KUBECONFIG", "GOVC_URL", "GOVC_USERNAME", "GOVC_PASSWORD", "GOVC_TLS_CA_CERTS", "GOVC_DATACENTER"}
}

// Vars returns the variables for a sandbox and one of its vCenters; "" chooses the first. It also returns the names of
// all vCenters, the chosen one first.
func Vars(ctx context.Context, t *command.Target, vcenter string) (vars []Var, vcenters []string, err error) {
	status, err := command.Ask(ctx, t, (*api.Client).Status)
	if err != nil {
		return nil, nil, err
	}
	access, err := Access(ctx, t, vcenter)
	if err != nil {
		return nil, nil, err
	}
	datacenters, err := command.Ask(ctx, t, (*api.Client).Datacenters)
	if err != nil {
		return nil, nil, err
	}
	vars = Govc(access[0], datacenters)
	if status.Kubeconfig != "" { // a sandbox may have vCenters only
		vars = append([]Var{{"KUBECONFIG", status.Kubeconfig}}, vars...)
	}
	vcenters = []string{access[0].VCenter}
	for _, v := range status.VCenters {
		if v.Name != access[0].VCenter {
			vcenters = append(vcenters, v.Name)
		}
	}
	return vars, vcenters, nil
}

// Access returns how to reach a vCenter, or with "" how to reach each of them. There is at least one.
func Access(ctx context.Context, t *command.Target, vcenter string) ([]api.Access, error) {
	all, err := command.Ask(ctx, t, (*api.Client).Access)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, &report.Error{
			Code: "unavailable", Message: fmt.Sprintf("sandbox %q has no vCenters yet", t.Name), Try: command.Program + " wait --for=ready",
		}
	}
	if vcenter == "" {
		return all, nil
	}
	var names []string
	for _, a := range all {
		if a.VCenter == vcenter {
			return []api.Access{a}, nil
		}
		names = append(names, a.VCenter)
	}
	notFound := &report.Error{Code: "not-found", Message: fmt.Sprintf("vCenter %q not found", vcenter), Try: command.Program + " get vcenters"}
	if guess := nearest.Of(vcenter, names); guess != "" {
		notFound.Try = "--vcenter " + guess
	}
	return nil, notFound
}

// Govc returns the variables for one vCenter. The datacenter is set when the vCenter has only one, as govc itself would
// find it.
func Govc(a api.Access, datacenters []api.Datacenter) []Var {
	vars := []Var{
		{"GOVC_URL", a.URL}, {"GOVC_USERNAME", a.User}, {"GOVC_PASSWORD", a.Password}, {"GOVC_TLS_CA_CERTS", a.CAFile},
	}
	var paths []string
	for _, d := range datacenters {
		if d.VCenter == a.VCenter {
			paths = append(paths, d.Path)
		}
	}
	if len(paths) == 1 {
		vars = append(vars, Var{"GOVC_DATACENTER", paths[0]})
	}
	return vars
}
