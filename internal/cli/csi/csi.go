package csi

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/component"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/logs"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
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
service: another one would mount disks on this machine.`,
		Example: `  vsphere-sandbox csi status
  vsphere-sandbox csi swap bin/vsphere-csi
  vsphere-sandbox csi swap builtin
  vsphere-sandbox csi logs sidecars -f`,
	}, NewCmdStatus(d), NewCmdSwap(d), NewCmdRestart(d), NewCmdLogs(d))
}

// NewCmdLogs returns the command.
func NewCmdLogs(d *command.Deps) *cobra.Command {
	const controller, syncer, webhook = "csi-controller", "csi-syncer", "csi-webhook"
	is := func(c, part string) bool { return c == part || strings.HasPrefix(c, part+"-") } // a replica
	sidecar := func(c string) bool {
		return strings.HasPrefix(c, "csi-") && !is(c, controller) && !is(c, syncer) && !is(c, webhook) || is(c, "snapshot-controller")
	}
	return component.NewCmdLogs(d, "csi", "Print the logs of the CSI driver",
		`Print what a part of the CSI driver has logged. PART is one of:

  controller  the driver's controller; the default
  syncer      the syncer beside a driver of another project; the syncer of this
              project's driver is part of its controller
  webhook     the validating webhook beside a driver of another project
  sidecars    the stock sidecars
  node        the nodes: kubelets, and the node services in them
  all         all of these
  NAME        one component: csi-attacher, node/worker-1

If a part has several components, each line begins with the component.`,
		logs.Part{Name: "controller", Has: func(c string) bool { return is(c, controller) }},
		logs.Part{Name: "syncer", Has: func(c string) bool { return is(c, syncer) }},
		logs.Part{Name: "webhook", Has: func(c string) bool { return is(c, webhook) }},
		logs.Part{Name: "sidecars", Has: sidecar},
		logs.Part{Name: "node", Has: isNode},
		logs.Part{Name: "all", Has: func(c string) bool {
			return sidecar(c) || is(c, controller) || is(c, syncer) || is(c, webhook) || isNode(c)
		}},
	)
}

// isNode reports whether a component of that name is a node.
func isNode(name string) bool { return strings.HasPrefix(name, "node/") }

// NewCmdSwap returns the command.
func NewCmdSwap(d *command.Deps) *cobra.Command {
	var flags Flags
	cmd := &cobra.Command{
		Short: "Replace the running CSI driver with another one",
		Long: `Stop the running CSI driver and its sidecars, and start another driver. The
command returns when the new driver is healthy.

If the new driver exits at once, registers another name, does not speak CSI 1.x
or is not healthy within a minute, it is stopped and the previous one is started
again. The error says why.`,
		Example: `  vsphere-sandbox csi swap bin/vsphere-csi --arg=--v=4
  vsphere-sandbox csi swap module:v3.7.0
  vsphere-sandbox csi swap builtin`,
		ValidArgsFunction: Sources,
	}
	f := cmd.Flags()
	f.StringVar(&flags.Syncer, "syncer", "", "syncer beside a CSI driver of another project, or none (default: that of the driver's release, or vsphere-syncer in its folder)")
	f.StringArrayVar(&flags.Args, "arg", nil, "extra argument for the CSI controller; repeatable")
	f.StringArrayVar(&flags.Env, "env", nil, "environment variable for the CSI driver, NAME=VALUE; repeatable")
	f.StringVar(&flags.Config, "config", "", "csi-vsphere.conf `FILE` in place of the sandbox's configuration")
	f.BoolVar(&flags.Webhook, "webhook", false, "also run the validating webhook of another project's CSI driver")
	f.StringVar(&flags.Manifest, "manifest", "", "manifest `FILE` with the rights of another project's CSI driver (default: that of the release)")
	_ = cmd.RegisterFlagCompletionFunc("syncer", complete.Flag(syncers)) // its only error is an unknown flag
	return component.NewCmdSwap(d, component.Swap{
		Group: "csi", Command: cmd, Source: &flags.Driver, Plain: []string{"arg", "env"},
		Check: func() error {
			if flags.Disabled() {
				return report.UsageError(command.Program+" csi swap builtin", "csi swap %s: a running sandbox keeps its volumes", flags.Driver)
			}
			return flags.Check()
		},
		Resolve: func(ctx context.Context) (component.Call, error) {
			next, err := flags.options(ctx, d.Streams)
			return func(c *api.Client, ctx context.Context) (api.Done, error) {
				return c.SwapCSI(ctx, api.CSIRequest{
					Program: requested(next.Program), Syncer: requested(next.Syncer), Args: next.Args, Env: next.Env,
					ConfigFile: next.ConfigFile, Manifest: next.Manifest, Webhook: next.Webhook, WebhookManifest: next.WebhookManifest,
				})
			}, err
		},
	})
}

func requested(p program.Program) api.Program {
	if p.Path == "" {
		return api.Program{}
	}
	return api.Program{Path: p.Path, Source: p.Source, Version: p.Version, Digest: p.Digest}
}

// NewCmdRestart returns the command.
func NewCmdRestart(d *command.Deps) *cobra.Command {
	return component.NewCmdRestart(d, "csi", "Restart the CSI driver and its sidecars",
		"Stop the CSI driver and its sidecars and start them again. The command returns\nwhen the driver is healthy. Node services keep running.", (*api.Client).RestartCSI)
}

// NewCmdStatus returns the command.
func NewCmdStatus(d *command.Deps) *cobra.Command {
	return component.NewCmdStatus("csi", "Show which CSI driver runs and whether it is healthy",
		`Show the processes of the CSI driver: its controller, its syncer and its webhook
if there are such programs, and the stock sidecars, of each replica; and the
node services of all nodes in one row. LEADER marks those that hold their Lease.
SOURCE says whose program each part is. Exits with 3 when the driver or the
webhook is not healthy, when a node does not take volumes, or when the newest
build of a program that --csi-watch watches did not start.

Below the table are the feature states that a driver of another project reads
from its ConfigMap; with -o json, they are in the rows of controller and syncer.`,
		func(ctx context.Context, flags output.Flags) error { return status(ctx, d, flags) })
}

func status(ctx context.Context, d *command.Deps, flags output.Flags) error {
	s, err := command.AskIt(ctx, d, (*api.Client).CSI)
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
	if err := output.List(d.Streams.Out, flags, table(d.Now()), rows); err != nil {
		return err
	}
	if s.Node.Why != "" {
		fmt.Fprintln(d.Streams.Err, "note:", s.Node.Why)
	}
	if i := slices.IndexFunc(s.Programs, func(p api.CSIProgram) bool { return len(p.Features) > 0 }); i >= 0 {
		for _, f := range s.Programs[i].Features {
			fmt.Fprintf(d.Streams.Err, "note: feature states of ConfigMap %s: %s\n", f.ConfigMap, statesText(f))
		}
	}
	all := make([]api.Component, len(rows))
	for i, c := range rows {
		all[i] = c.Component
	}
	return component.Degraded(all, func(c api.Component) string {
		if c.Name == node.Name {
			return "csi logs node"
		}
		return "logs " + c.Name
	})
}

// statesText is feature states in one line: NAME=VALUE, in the order of names.
func statesText(f api.FeatureStates) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(f.States)) {
		all = append(all, name+"="+f.States[name])
	}
	return cmp.Or(f.Error, strings.Join(all, ", "), "none")
}

func table(now time.Time) output.Kind[api.CSIProgram] {
	part := output.Column[api.CSIProgram]{Header: "PART", Value: func(c api.CSIProgram) string { return c.Part }}
	return output.Kind[api.CSIProgram]{
		Name:    "CSIProgram",
		Ref:     func(c api.CSIProgram) string { return "component/" + c.Name },
		Columns: slices.Insert(component.Columns(now, func(c api.CSIProgram) api.Component { return c.Component }, source), 1, part),
	}
}

// source says whose program a part is.
func source(c api.CSIProgram) string {
	if c.Part == "sidecar" {
		return "stock"
	}
	return c.Source
}
