package govc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"

	"github.com/spf13/cobra"
	"github.com/vmware/govmomi/cli"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/env"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

type options struct {
	streams *iostreams.Streams
	connect func(context.Context) (*command.Target, error)
	release func()
	setenv  func(name, value string) error
	main    func(args []string) int
	self    string

	vcenter string
	args    []string
}

// NewCmdGovc returns the command; runF, when not nil, runs in its place.
func NewCmdGovc(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{
		streams: d.Streams, connect: d.Connect, release: d.Release, setenv: setenv, main: Main, self: d.Self,
	}
	runF = command.Or(runF, run)
	cmd := &cobra.Command{
		Use:   "govc [--vcenter NAME] COMMAND [ARGUMENT]...",
		Short: "Run the built-in govc against the vCenters of a sandbox",
		Long: `Run the built-in govc as administrator of a sandbox's vCenters.

Everything after the govc command is passed to govc. Without --vcenter, the
command runs against each vCenter in turn and prints its name on standard error;
the exit status is that of the first failure. TLS is verified, and no session is
kept in your home directory.`,
		Example: `  vsphere-sandbox govc find / -type m
  vsphere-sandbox govc --vcenter us vm.info worker-west-1
  vsphere-sandbox govc vm.info -h`,
		ValidArgsFunction: completion,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.args = args
			return runF(cmd.Context(), o)
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().StringVar(&o.vcenter, "vcenter", "", "the `VCENTER` to use")
	// Cannot fail: the flag was added in the line above.
	_ = cmd.RegisterFlagCompletionFunc("vcenter", complete.Flag(complete.VCenters(d)))
	return cmd
}

func run(ctx context.Context, o *options) error {
	if !needsVCenter(o.args) {
		return o.exec()
	}
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	access, err := env.Access(ctx, t, o.vcenter)
	if err != nil {
		return err
	}
	if len(access) > 1 {
		return o.each(ctx, t.Name, access)
	}
	datacenters, err := command.Ask(ctx, t, (*api.Client).Datacenters)
	if err != nil {
		return err
	}
	if err := o.aim(env.Govc(access[0], datacenters)); err != nil {
		return err
	}
	return o.exec()
}

// exec becomes govc.
func (o *options) exec() error {
	if o.release != nil {
		o.release() // govc knows nothing of our context
	}
	if status := o.main(o.args); status != 0 {
		return report.Exit(status)
	}
	return nil
}

// aim points this process's environment at a vCenter. What the user's own environment says of another one goes.
func (o *options) aim(vars []env.Var) error {
	set := map[string]string{"GOVC_PERSIST_SESSION": "false", "GOVC_INSECURE": "", "GOVC_DATACENTER": ""}
	for _, v := range vars {
		set[v.Name] = v.Value
	}
	for name, value := range set {
		if err := o.setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}

// setenv sets a variable, or with an empty value unsets it.
func setenv(name, value string) error {
	if value == "" {
		return os.Unsetenv(name)
	}
	return os.Setenv(name, value)
}

// each runs this program once for each vCenter.
func (o *options) each(ctx context.Context, sandbox string, access []api.Access) error {
	var first error
	for _, a := range access {
		fmt.Fprintf(o.streams.Err, "# vcenter %s\n", a.VCenter)
		args := append([]string{"--name", sandbox, "govc", "--vcenter", a.VCenter, "--"}, o.args...)
		cmd := exec.CommandContext(ctx, o.self, args...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = o.streams.In, o.streams.Out, o.streams.Err
		err := cmd.Run()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if failed, ok := errors.AsType[*exec.ExitError](err); ok { // it has said why
			err = report.Exit(max(failed.ExitCode(), report.Failure))
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// needsVCenter reports whether arguments make no sense without one.
func needsVCenter(args []string) bool {
	if len(args) == 0 || slices.Contains([]string{"help", "version"}, args[0]) {
		return false
	}
	return !slices.ContainsFunc(args, func(a string) bool { return a == "-h" || a == "--help" || a == "-help" })
}

// completion completes govc's commands; govc has no completion for their arguments.
func completion(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return slices.Sorted(maps.Keys(cli.Commands())), cobra.ShellCompDirectiveNoFileComp
}

// Main runs govc with arguments, those after its name, and returns its exit status. It writes to the standard streams
// of the process, and must be called once per process only: its commands remember their flags.
func Main(args []string) int {
	os.Args[0] = "govc" // how it calls itself in what it says
	return cli.Run(args)
}
