package ccm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/component"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/logs"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// NewCmdCCM returns the group of commands.
func NewCmdCCM(d *command.Deps) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "ccm",
		Short: "Show, replace and restart the cloud controller manager (CCM)",
		Long: `Show, replace or restart the cloud controller manager (CCM) of a running
sandbox. SOURCE is one of:

  builtin         the provider that is built into this program
  PATH            a binary that accepts the flags of a CCM
  image:REF       the binary of a container image; needs a registry, no Docker
  archive:FILE    the same from "docker save", or an OCI layout (file or folder)
  module:VERSION  upstream's release, built from k8s.io/cloud-provider-vsphere

The CCM runs as a process with the sandbox's vsphere.conf, Secret and
ServiceAccount. A CCM other than builtin gets the permissions of upstream's
manifests, and read access to EndpointSlices.`,
		Example: `  vsphere-sandbox ccm status
  vsphere-sandbox ccm swap module:v1.36.0
  vsphere-sandbox ccm swap builtin
  vsphere-sandbox ccm fetch image:registry.k8s.io/cloud-pv-vsphere/cloud-provider-vsphere:v1.36.0`,
	}, NewCmdStatus(d), NewCmdSwap(d), NewCmdRestart(d), NewCmdLogs(d), NewCmdFetch(d))
}

// NewCmdLogs returns the command.
func NewCmdLogs(d *command.Deps) *cobra.Command {
	return component.NewCmdLogs(d, "ccm", "Print the log of the CCM",
		"Print what the CCM has logged. PART is all, the default, or the name of a\nreplica: ccm-2. If there are several, each line begins with the replica.",
		logs.Part{Name: "all", Has: func(c string) bool { return c == "ccm" || strings.HasPrefix(c, "ccm-") }},
	)
}

// NewCmdSwap returns the command.
func NewCmdSwap(d *command.Deps) *cobra.Command {
	var flags Flags
	cmd := &cobra.Command{
		Short: "Replace the running CCM with another one",
		Long: `Stop the running CCM with SIGTERM and start another one. The command returns
when the new CCM is healthy.

If the new CCM exits at once, or is not healthy within a minute, it is stopped
and the previous one is started again. The error shows its last log lines.`,
		Example: `  vsphere-sandbox ccm swap ./my-ccm --arg=--v=4
  vsphere-sandbox ccm swap module:v1.34.0
  vsphere-sandbox ccm swap builtin --replicas 2`,
		ValidArgsFunction: Sources,
	}
	f := cmd.Flags()
	f.StringArrayVar(&flags.Args, "arg", nil, "extra argument for the CCM; repeatable")
	f.StringArrayVar(&flags.Env, "env", nil, "environment variable for the CCM, NAME=VALUE; repeatable")
	f.IntVar(&flags.Replicas, "replicas", 1, "number of CCM replicas; several elect a leader")
	return component.NewCmdSwap(d, component.Swap{
		Group: "ccm", Command: cmd, Source: &flags.Source, Check: flags.Check, Plain: []string{"arg", "env", "replicas"},
		Resolve: func(ctx context.Context) (component.Call, error) {
			p, err := resolve(ctx, flags.Source, d.Streams)
			return func(c *api.Client, ctx context.Context) (api.Done, error) {
				return c.SwapCCM(ctx, api.CCMRequest{
					Path: p.Path, Source: p.Source, Version: p.Version, Digest: p.Digest,
					Args: flags.Args, Env: flags.Env, Replicas: flags.Replicas,
				})
			}, err
		},
	})
}

// NewCmdRestart returns the command.
func NewCmdRestart(d *command.Deps) *cobra.Command {
	return component.NewCmdRestart(d, "ccm", "Restart the CCM",
		"Stop the CCM with SIGTERM and start it again. The command returns when the new\nprocess is healthy.", (*api.Client).RestartCCM)
}

// NewCmdStatus returns the command.
func NewCmdStatus(d *command.Deps) *cobra.Command {
	return component.NewCmdStatus("ccm", "Show which CCM runs and whether it is healthy",
		`Show which CCM runs, where it comes from, whether it is healthy, and which
replica is the leader. Exits with 3 when a replica is not healthy, or when the
newest build of a program that --ccm-watch watches did not start. Warns about
datacenters, tag categories and networks in vsphere.conf that a vCenter does
not have, if the CCM is builtin.`,
		func(ctx context.Context, flags output.Flags) error { return status(ctx, d, flags) })
}

func status(ctx context.Context, d *command.Deps, flags output.Flags) error {
	t, err := d.Connect(ctx)
	if err != nil {
		return err
	}
	s, err := command.Ask(ctx, t, (*api.Client).Status)
	if err != nil {
		return err
	}
	rows := slices.DeleteFunc(s.Components, func(c api.Component) bool { return !c.IsCCM() })
	if len(rows) == 0 {
		return &report.Error{Code: "not-found", Message: "the sandbox has no cloud controller manager", Try: command.Program + " ccm swap builtin"}
	}
	if err := output.List(d.Streams.Out, flags, table(d.Now()), rows); err != nil {
		return err
	}
	warnings, err := missingNames(ctx, t)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(d.Streams.Err, "warning:", printable.Line(w))
	}
	return component.Degraded(rows, func(api.Component) string { return "logs ccm" })
}

// missingNames returns the CCM's current warnings about names in the cloud-config that a vCenter does not have.
func missingNames(ctx context.Context, t *command.Target) ([]string, error) {
	return command.Ask(ctx, t, func(c *api.Client, ctx context.Context) ([]string, error) {
		current := map[string]string{} // by vCenter
		err := c.Events(ctx, 0, false, func(e event.Event, _ uint64) error {
			switch e.Kind {
			case "ccm.configured-name-missing":
				current[e.Object.Name] = e.Message
			case "ccm.configured-names-found":
				delete(current, e.Object.Name)
			case "child.started", "ccm.swapped":
				if e.Object.Kind == "Component" && strings.HasPrefix(e.Object.Name, "ccm") { // it reports what is missing again
					clear(current)
				}
			}
			return nil
		})
		return slices.Sorted(maps.Values(current)), err
	})
}

func table(now time.Time) output.Kind[api.Component] {
	itself := func(c api.Component) api.Component { return c }
	return output.Kind[api.Component]{
		Name:    "Component",
		Ref:     func(c api.Component) string { return "component/" + c.Name },
		Columns: component.Columns(now, itself, func(c api.Component) string { return c.Source }),
	}
}

// Deployable adds to what [Flags.Resolve] has found the manifest with which it is deployed as pods: the file that was named,
// or that of upstream's release. The built-in one, and programs that are files, have none.
func (f *Flags) Deployable(ctx context.Context, c sandbox.CCM, streams *iostreams.Streams) (sandbox.CCM, error) {
	if f.Manifest != "" {
		text, err := input.File(f.Manifest, input.MaxFile)
		if err != nil {
			return c, &report.Error{Code: "usage", Message: "--ccm-manifest", Err: err, Exit: report.Usage, Try: "--ccm-manifest FILE that you may read"}
		}
		if c.Program.Path == "" {
			return c, report.UsageError("--ccm module:v1.36.0 --ccm-manifest "+f.Manifest, "--ccm-manifest: the built-in cloud controller manager has its own manifests")
		}
		c.Manifest = text
		return c, nil
	}
	source, err := program.CCM.Parse(c.Program.Source)
	if err != nil {
		return c, Explain(err)
	}
	switch source.Kind() {
	case program.Builtin, program.File:
		return c, nil
	case program.Image, program.Archive, program.Module:
	}
	version := regexp.MustCompile(`v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`).FindString(c.Program.Version)
	if version == "" {
		return c, report.UsageError("--ccm-manifest FILE", "--ccm %s: it does not say which release it is, so name the manifest to deploy it with", f.Source)
	}
	c.Manifest, err = ccm.Manifest(ctx, version, program.Options{Progress: func(said string) { fmt.Fprintf(streams.Err, "  … ccm: %s\n", said) }})
	return c, Explain(err)
}

// NewCmdFetch returns the command.
func NewCmdFetch(d *command.Deps) *cobra.Command {
	flags := Flags{Replicas: 1}
	var format string
	cmd := &cobra.Command{
		Use:   "fetch SOURCE",
		Short: "Download or build a CCM and print the path of the binary",
		Long: `Download or build a CCM, if it is not in the cache, and print the path of the
binary. Building upstream's release takes some minutes the first time. The
cache is in the user's cache folder; no sandbox is needed.`,
		Example: `  vsphere-sandbox ccm fetch module:v1.36.0
  vsphere-sandbox ccm fetch archive:ccm.tar -o json`,
		Args:              cobra.MatchAll(command.AtLeastOne("SOURCE"), command.AtMostOne),
		ValidArgsFunction: Sources,
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.Source = args[0]
			if err := flags.Check(); err != nil {
				return err
			}
			return fetch(cmd.Context(), d.Streams, flags.Source, format)
		},
	}
	output.BindFormat(cmd, &format, output.Plain, output.JSON, output.YAML)
	return cmd
}

func fetch(ctx context.Context, streams *iostreams.Streams, source, format string) error {
	p, err := resolve(ctx, source, streams)
	if err != nil {
		return err
	}
	p.Path = cmp.Or(p.Path, "builtin")
	if format == output.JSON || format == output.YAML {
		return output.Object(streams.Out, format, "Program", p)
	}
	_, err = fmt.Fprintln(streams.Out, p.Path)
	return err
}
