package csi

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// NewCmdCSI returns the group of commands.
func NewCmdCSI(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "csi",
		Short: "Show, replace and restart the CSI driver",
		Long: `Show, replace or restart the CSI driver of a running sandbox on the embedded
ground. SOURCE is one of:

  builtin         the driver that is built into this program
  PATH            a binary: of this project (cmd/vsphere-csi), or of upstream
  image:REF       the binary of a container image; needs a registry, no Docker
  archive:FILE    the same from "docker save", or an OCI layout (file or folder)
  module:VERSION  upstream's release, built from vsphere-csi-driver/v3

The controller runs as a process, with the stock sidecars and with the rights
of its manifest. A binary of this project is also the node service of every
hollow node. Beside any other binary, hollow nodes have the built-in node
service: another one would mount disks on this machine.

Logs: "logs csi-controller", "logs csi-syncer", "logs node/NAME".`,
		Example: `  vsphere-sandbox csi status
  vsphere-sandbox csi swap bin/vsphere-csi
  vsphere-sandbox csi swap builtin`,
	}, NewCmdStatus(d, nil), NewCmdSwap(d, nil), NewCmdRestart(d, nil))
}

type options struct {
	streams *iostreams.Streams
	connect func(context.Context) (*command.Target, error)

	flags  Flags
	format string
}

// NewCmdSwap returns the command; runF, when not nil, runs in its place.
func NewCmdSwap(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, connect: d.Connect}
	cmd := &cobra.Command{
		Use:   "swap SOURCE",
		Short: "Replace the running CSI driver with another one",
		Long: `Stop the running CSI driver and its sidecars, and start another driver. The
command returns when the new driver is healthy.

If the new driver exits at once, registers another name, does not speak CSI 1.x
or is not healthy within a minute, it is stopped and the previous one is started
again. The error says why.`,
		Example: `  vsphere-sandbox csi swap bin/vsphere-csi --arg=--v=4
  vsphere-sandbox csi swap module:v3.7.0
  vsphere-sandbox csi swap builtin`,
		Args:              cobra.MatchAll(command.AtLeastOne("SOURCE"), command.AtMostOne),
		ValidArgsFunction: Sources,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.flags.Driver = args[0]
			if o.flags.Disabled() {
				return report.UsageError(command.Program+" csi swap builtin", "csi swap %s: a running sandbox keeps its volumes", args[0])
			}
			if err := o.flags.Check(); err != nil {
				return err
			}
			return command.Or(runF, swap)(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.flags.Syncer, "syncer", "", "syncer beside a CSI driver of another project, or none (default: that of the driver's release, or vsphere-syncer in its folder)")
	f.StringArrayVar(&o.flags.Args, "arg", nil, "extra argument for the CSI controller; repeatable")
	f.StringArrayVar(&o.flags.Env, "env", nil, "environment variable for the CSI driver, NAME=VALUE; repeatable")
	f.StringVar(&o.flags.Config, "config", "", "csi-vsphere.conf `FILE` in place of the sandbox's configuration")
	f.StringVar(&o.flags.Manifest, "manifest", "", "manifest `FILE` with the rights of another project's CSI driver (default: that of the release)")
	// Their only error is an unknown flag.
	_ = cmd.RegisterFlagCompletionFunc("syncer", complete.Flag(syncers))
	for _, none := range []string{"arg", "env"} {
		_ = cmd.RegisterFlagCompletionFunc(none, complete.None)
	}
	output.BindFormat(cmd, &o.format, output.Plain, output.JSON, output.YAML)
	return cmd
}

func swap(ctx context.Context, o *options) error {
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	next, err := o.flags.options(ctx, o.streams)
	if err != nil {
		return err
	}
	done, err := command.Do(ctx, t, func(c *api.Client, ctx context.Context) (api.Done, error) {
		return c.SwapCSI(ctx, api.CSIRequest{
			Program: requested(next.Program), Syncer: requested(next.Syncer), Args: next.Args, Env: next.Env,
			ConfigFile: next.ConfigFile, Manifest: next.Manifest,
		})
	})
	return show(o, done, err)
}

func requested(p program.Program) api.Program {
	if p.Path == "" {
		return api.Program{}
	}
	return api.Program{Path: p.Path, Source: p.Source, Version: p.Version, Digest: p.Digest}
}

// show prints what was done.
func show(o *options, done api.Done, err error) error {
	switch {
	case err != nil:
		return err
	case o.format == output.JSON || o.format == output.YAML:
		return output.Object(o.streams.Out, o.format, "Result", done)
	}
	_, err = fmt.Fprintf(o.streams.Out, "csi: %s\n", done.Message)
	return err
}

// NewCmdRestart returns the command; runF, when not nil, runs in its place.
func NewCmdRestart(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, connect: d.Connect}
	cmd := &cobra.Command{
		Use:               "restart",
		Short:             "Restart the CSI driver and its sidecars",
		Long:              "Stop the CSI driver and its sidecars and start them again. The command returns\nwhen the driver is healthy. Node services keep running.",
		Example:           "  vsphere-sandbox csi restart",
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), o)
			}
			t, err := o.connect(cmd.Context())
			if err != nil {
				return err
			}
			done, err := command.Do(cmd.Context(), t, (*api.Client).RestartCSI)
			return show(o, done, err)
		},
	}
	output.BindFormat(cmd, &o.format, output.Plain, output.JSON, output.YAML)
	return cmd
}

type statusOptions struct {
	options
	now   func() time.Time
	flags output.Flags
}

// NewCmdStatus returns the command; runF, when not nil, runs in its place.
func NewCmdStatus(d *command.Deps, runF func(context.Context, *statusOptions) error) *cobra.Command {
	o := &statusOptions{options: options{streams: d.Streams, connect: d.Connect}, now: d.Now}
	runF = command.Or(runF, status)
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show which CSI driver runs and whether it is healthy",
		Long: `Show the processes of the CSI driver: its controller, its syncer if that is a
separate program, and the stock sidecars; and the node services of all nodes in
one row. SOURCE says whose program each part is. Exits with 3 when the driver is
not healthy, when a node does not take volumes, or when the newest build of a
program that --csi-watch watches did not start.`,
		Example: `  vsphere-sandbox csi status
  vsphere-sandbox csi status -o json`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
	}
	o.flags.Bind(cmd)
	return cmd
}

func status(ctx context.Context, o *statusOptions) error {
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	s, err := command.Ask(ctx, t, (*api.Client).CSI)
	if err != nil {
		return err
	}
	node := api.CSIProgram{Part: "node", Component: api.Component{
		Name: "node services", Source: s.Node.Source, Version: s.Node.Version, Digest: s.Node.Digest,
		State: fmt.Sprintf("%d of %d", s.Node.Nodes-len(s.Node.Waiting), s.Node.Nodes), Message: s.Node.Why, Health: "healthy",
	}}
	if len(s.Node.Waiting) > 0 {
		node.Health = "no volumes: " + strings.Join(s.Node.Waiting, ", ")
	}
	rows := append(s.Programs, node)
	if err := output.List(o.streams.Out, o.flags, table(o.now()), rows); err != nil {
		return err
	}
	if s.Node.Why != "" {
		fmt.Fprintln(o.streams.Err, "note:", s.Node.Why)
	}
	var ill []string
	for _, c := range rows {
		switch {
		case c.FailedBuild != "":
			ill = append(ill, c.Name+": "+c.FailedBuild)
		case c.Health != "" && c.Health != "healthy":
			ill = append(ill, c.Name+": "+c.Health)
		case c.Health == "" && c.State != "running":
			ill = append(ill, c.Name+": "+c.State)
		}
	}
	if len(ill) > 0 {
		return &report.Error{Code: "degraded", Message: strings.Join(ill, "; "), Try: command.Program + " logs csi-controller", Exit: report.Degraded}
	}
	return nil
}

func table(now time.Time) output.Kind[api.CSIProgram] {
	return output.Kind[api.CSIProgram]{
		Name: "CSIProgram",
		Ref:  func(c api.CSIProgram) string { return "component/" + c.Name },
		Columns: []output.Column[api.CSIProgram]{
			{Header: "NAME", Value: func(c api.CSIProgram) string { return c.Name }},
			{Header: "PART", Value: func(c api.CSIProgram) string { return c.Part }},
			{Header: "SOURCE", Value: source},
			{Header: "VERSION", Value: func(c api.CSIProgram) string { return c.Version }},
			{Header: "STATE", Value: func(c api.CSIProgram) string { return c.State }},
			{Header: "HEALTH", Value: func(c api.CSIProgram) string { return c.Health }},
			{Header: "RESTARTS", Value: func(c api.CSIProgram) string { return strconv.Itoa(c.Restarts) }},
			{Header: "AGE", Value: func(c api.CSIProgram) string { return output.Age(now, c.Since) }},
			{Header: "PID", Value: func(c api.CSIProgram) string { return strconv.Itoa(c.PID) }, Wide: true},
			{Header: "DIGEST", Value: func(c api.CSIProgram) string { return c.Digest }, Wide: true},
		},
	}
}

// source says whose program a part is.
func source(c api.CSIProgram) string {
	if c.Part == "sidecar" {
		return "stock"
	}
	return c.Source
}
