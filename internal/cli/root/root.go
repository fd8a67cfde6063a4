package root

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Commands are the commands, in the groups in which the help shows them.
type Commands struct {
	Sandbox, Inventory, Watch, Tools []*cobra.Command
	// Hidden commands are for the program itself.
	Hidden []*cobra.Command
}

const long = `Run a vSphere-backed Kubernetes cluster on a laptop: simulated vCenters, a real
control plane, a kubelet for each VM, the vSphere cloud controller manager (CCM)
and a CSI driver.

Exit status of every command:
  0    success
  1    failure
  2    wrong arguments or a wrong input file; nothing was changed
  3    the command ran, but a check, condition or expectation failed
  4    this machine, or a cluster, lacks a prerequisite
  130  interrupted with Ctrl-C

With -o json, errors are JSON on standard error.

Environment:
  VSPHERE_SANDBOX_NAME        name of the sandbox, instead of --name
  VSPHERE_SANDBOX_STATE       directory that holds the sandboxes (default:
                              $XDG_STATE_HOME/vsphere-sandbox)
  VSPHERE_SANDBOX_PASSWORD    password for "vcenter up", instead of --password
  VSPHERE_SANDBOX_SIDECARS    path of csi-sidecars, if it is elsewhere
  VSPHERE_SANDBOX_KUBERNETES  path of vsphere-sandbox-kubernetes
  VSPHERE_SANDBOX_TUTORIALS   directory of the tutorials' sandboxes and files
  XDG_STATE_HOME              default: ~/.local/state
  XDG_CACHE_HOME              directory of the cache, see "cache list" (default:
                              ~/.cache)
  KUBECONFIG                  kubeconfig of "--cluster existing" and "migrate"
  GOVC_URL, GOVC_USERNAME, …  real vCenter of "--vcenter-config env"
  NO_COLOR                    if set, no colors in the terminal UI
  SHELL                       shell for which "env" prints variables`

// New returns the root command. It sets d.NameFlag from --name.
func New(d *command.Deps, c Commands) *cobra.Command {
	root := command.Group(&cobra.Command{
		Use:   command.Program,
		Short: "Run a vSphere-backed Kubernetes cluster on a laptop",
		Long:  long,
		Example: `  vsphere-sandbox up --detach
  vsphere-sandbox get nodes
  vsphere-sandbox vm power-off worker-west-1
  vsphere-sandbox events --since 1m
  vsphere-sandbox down`,
		Version:          build.Version(),
		SilenceErrors:    true,
		SilenceUsage:     true,
		TraverseChildren: true, // what stands before kubectl is ours, what stands behind it is kubectl's
	})
	root.RunE = func(cmd *cobra.Command, _ []string) error { return greet(cmd, d) }
	const tools = "tools"
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"sandbox", "Sandbox:", c.Sandbox},
		{"inventory", "Inventory:", c.Inventory},
		{"watch", "Watch:", c.Watch},
		{tools, "Tools:", c.Tools},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, cmd := range g.commands {
			cmd.GroupID = g.id
			root.AddCommand(cmd)
		}
	}
	for _, cmd := range c.Hidden {
		cmd.Hidden = true
		root.AddCommand(cmd)
	}
	root.PersistentFlags().StringVar(&d.NameFlag, "name", "",
		"`NAME` of the sandbox (default: $"+command.NameEnv+", else the only one running, else \""+command.DefaultName+"\")")
	// Cannot fail: the flag was added in the line above.
	_ = root.RegisterFlagCompletionFunc("name", complete.Flag(complete.Sandboxes(d)))
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return tidy(cmd, d) }
	root.SetCompletionCommandGroupID(tools)
	root.SetHelpCommand(newHelp(tools))
	root.SetUsageTemplate(usage)
	root.SetVersionTemplate(command.Program + " {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	return root
}

// newHelp returns the help command; unlike cobra's own, it takes a topic that there is not for an error.
func newHelp(group string) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]...",
		Short:   "Print the help of a command",
		Example: "  vsphere-sandbox help vm power-off",
		GroupID: group,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			var words []string
			if about, rest, err := cmd.Root().Traverse(args); err == nil && len(rest) == 0 {
				for _, c := range about.Commands() {
					if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), typed) {
						words = append(words, cobra.CompletionWithDesc(c.Name(), c.Short))
					}
				}
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Traverse(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return command.UnknownCommand(about, rest[0])
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// usage is cobra's own template, but for groups, of which it says only what can be typed.
const usage = `Usage:{{if and .Runnable (not .HasAvailableSubCommands)}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} COMMAND{{end}}{{if .Aliases}}

Aliases:
  {{.NameAndAliases}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}{{$commands := .Commands}}{{if .Groups}}{{range $group := .Groups}}

{{.Title}}{{range $commands}}{{if and (eq .GroupID $group.ID) .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{else}}

Commands:{{range $commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Global flags:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

"{{.CommandPath}} COMMAND --help" prints the help of a command.{{end}}
`

// tidy ends the processes that killed sandboxes left, and says so. Their files stay: the user who types the next command wants
// to know why one died. Every command does it first, but those that are there to look at the remains, that clean up themselves, or that
// have nothing to do with sandboxes.
func tidy(cmd *cobra.Command, d *command.Deps) error {
	top := cmd
	for top.HasParent() && top.Parent().HasParent() {
		top = top.Parent()
	}
	switch top.Name() {
	case "logs", "doctor", "up", "down", "version", "man", "completion", "help":
		return nil
	}
	if top.Hidden || !top.HasParent() {
		return nil
	}
	if _, err := d.Sandboxes.Root(); err != nil {
		return nil // where there is no place for sandboxes, none was left; a command that needs the place says so
	}
	settled, err := d.Sandboxes.ReapProcesses(cmd.Context())
	for _, s := range settled {
		fmt.Fprintln(d.Streams.Err, s)
	}
	if err != nil {
		// What the user asked for may work all the same.
		fmt.Fprintf(d.Streams.Err, "what a sandbox left that crashed could not be ended: %v\n", err)
	}
	return nil
}

// patience is how long a sandbox may take to say what is in it. One that hangs is no reason not to greet.
const patience = time.Second

// greet prints what the program shows without a command: what it is, and five commands to type. Users with sandboxes see
// these first, and a command that breaks something uses one of them.
func greet(cmd *cobra.Command, d *command.Deps) error {
	me := command.Typed(os.Args[0])
	with := me
	first := [2]string{me + " up --detach", "boot vCenters and a cluster"}
	vm := "worker-west-1" // of what "up" boots
	if names, s := running(cmd.Context(), d); len(names) > 0 {
		if len(names) > 1 {
			with += " --name " + s.Name
		}
		first = [2]string{me + " list", "what is running: " + strings.Join(names, ", ")}
		vm = victim(cmd.Context(), s)
	}
	third := [2]string{with + " vm power-off " + shellescape.Quote(vm), "break something"}
	if vm == "" {
		third = [2]string{with + " events --since 5m", "what has happened"}
	}
	lines := [][2]string{
		first,
		{with + " get nodes", "VMs and their nodes"},
		third,
		{with + " tui", "watch it"},
		{with + " down", "end it; nothing is left"},
	}
	width := 0
	for _, l := range lines {
		width = max(width, len(l[0]))
	}
	var text strings.Builder
	text.WriteString("Kubernetes on vSphere, on this machine: no vCenter, no Docker, no network.\n\n")
	for _, l := range lines {
		fmt.Fprintf(&text, "  %-*s  %s\n", width, l[0], l[1])
	}
	_, err := fmt.Fprintf(d.Streams.Out, "%s\nStep by step: %s tutorial start 1\nAll commands: %[2]s --help\n", text.String(), me)
	return err
}

// running are the names of the sandboxes that run, and the one that is meant, else the first of them.
func running(ctx context.Context, d *command.Deps) (names []string, one command.Sandbox) {
	// A state directory that cannot be read is no reason not to greet; the next command says what is wrong with it.
	all, _ := d.Sandboxes.List(ctx)
	for _, s := range all {
		if !s.Running {
			continue
		}
		if len(names) == 0 {
			one = s
		}
		names = append(names, s.Name)
	}
	if s, err := d.Find(ctx); err == nil && s.Running {
		one = s
	}
	return names, one
}

// victim returns a VM of a sandbox that may be powered off, or "" if none is known or the vCenters are real.
func victim(ctx context.Context, s command.Sandbox) string {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client := api.NewClient(s.Socket)
	status, err := client.Status(ctx)
	if err != nil || status.Ground.Inventory == api.InventoryReal {
		return ""
	}
	vms, _ := client.VMs(ctx) // none are known then
	for _, vm := range vms {
		if vm.Role == string(topology.RoleWorker) {
			return vm.Name
		}
	}
	return ""
}

// Execute runs the root command with the arguments after the program's name, prints the error if there is one, and
// returns the exit status.
func Execute(ctx context.Context, root *cobra.Command, args []string, streams *iostreams.Streams) int {
	if args == nil {
		args = []string{} // nil means those of the process
	}
	root.SetArgs(args)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return report.OK
	}
	if cmd == nil {
		cmd = root
	}
	r := report.Of(usageError(cmd, err))
	if format(cmd, args) == output.Text {
		r.Try = command.AsTyped(r.Try, os.Args[0])
	}
	// There is nowhere left to tell that telling failed.
	_ = report.Write(streams.Err, format(cmd, args), r)
	return r.Exit
}

// usageError makes a usage error of those that cobra and pflag return as they are.
func usageError(cmd *cobra.Command, err error) error {
	var (
		missing *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
		syntax  *pflag.InvalidSyntaxError
		unknown *pflag.NotExistError
		ours    *report.Error
	)
	switch {
	case errors.As(err, &ours):
		return err
	case errors.As(err, &missing), errors.As(err, &invalid), errors.As(err, &syntax), errors.As(err, &unknown):
		return flagError(cmd, err)
	case strings.HasPrefix(err.Error(), "unknown command "), strings.HasPrefix(err.Error(), "required flag(s) "):
		return report.UsageError(cmd.CommandPath()+" --help", "%v", err)
	}
	return err
}

// flagError explains what pflag did not understand.
func flagError(cmd *cobra.Command, err error) error {
	if ours, ok := errors.AsType[*report.Error](err); ok { // a flag of ours that explains itself
		return ours
	}
	try := cmd.CommandPath() + " --help"
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return report.UsageError(try, "--%s %s: want %s", wrong.GetFlag().Name, wrong.GetValue(), wanted(wrong.GetFlag()))
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return report.UsageError(try, "%v", err)
	}
	name := unknown.GetSpecifiedName()
	if shorts := unknown.GetSpecifiedShortnames(); shorts != "" {
		return report.UsageError(try, "%s has no flag -%s", cmd.CommandPath(), name)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if guess := nearest.Of(name, names); guess != "" {
		try = "--" + guess
	}
	return report.UsageError(try, "%s has no flag --%s", cmd.CommandPath(), name)
}

// wanted says what a flag takes.
func wanted(f *pflag.Flag) string {
	switch t := f.Value.Type(); t {
	case "bool":
		return "true or false"
	case "int", "int32", "int64", "uint", "uint16", "uint32", "uint64", "count":
		return "a whole number"
	case "float32", "float64":
		return "a number"
	case "duration":
		return "a time such as 30s, 5m or 1h30m"
	default:
		return "a " + t
	}
}

// format returns the format that the user wants to read errors in. Arguments are looked at, too, because the one that
// was not understood may stand before -o.
func format(cmd *cobra.Command, args []string) string {
	flag := cmd.Flags().Lookup("output")
	if flag == nil {
		return output.Text
	}
	if f := flag.Value.String(); flag.Changed && (f == output.JSON || f == output.YAML) {
		return f
	}
	for i, a := range args {
		if a == "--" {
			break
		}
		for _, f := range []string{output.JSON, output.YAML} {
			if slices.Contains([]string{"-o" + f, "-o=" + f, "--output=" + f}, a) ||
				(a == "-o" || a == "--output") && i+1 < len(args) && args[i+1] == f {
				return f
			}
		}
	}
	return output.Text
}
