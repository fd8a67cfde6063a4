package root

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
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
  VSPHERE_SANDBOX_NAME    name of the sandbox, instead of --name
  VSPHERE_SANDBOX_STATE   directory that holds the sandboxes
                          (default: $XDG_STATE_HOME/vsphere-sandbox)`

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
	settled, err := d.Sandboxes.Settle(cmd.Context())
	for _, s := range settled {
		fmt.Fprintln(d.Streams.Err, s)
	}
	if err != nil {
		// What the user asked for may work all the same.
		fmt.Fprintf(d.Streams.Err, "what a sandbox left that crashed could not be ended: %v\n", err)
	}
	return nil
}
