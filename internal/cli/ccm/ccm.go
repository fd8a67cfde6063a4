package ccm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
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
	}, NewCmdStatus(d, nil), NewCmdSwap(d, nil), NewCmdRestart(d, nil), NewCmdFetch(d, nil))
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
		Short: "Replace the running CCM with another one",
		Long: `Stop the running CCM with SIGTERM and start another one. The command returns
when the new CCM is healthy.

If the new CCM exits at once, or is not healthy within a minute, it is stopped
and the previous one is started again. The error shows its last log lines.`,
		Example: `  vsphere-sandbox ccm swap ./my-ccm --arg=--v=4
  vsphere-sandbox ccm swap module:v1.34.0
  vsphere-sandbox ccm swap builtin --replicas 2`,
		Args:              cobra.MatchAll(command.AtLeastOne("SOURCE"), command.AtMostOne),
		ValidArgsFunction: Sources,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.flags.Source = args[0]
			if err := o.flags.Check(); err != nil {
				return err
			}
			return command.Or(runF, swap)(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.flags.Args, "arg", nil, "extra argument for the CCM; repeatable")
	f.StringArrayVar(&o.flags.Env, "env", nil, "environment variable for the CCM, NAME=VALUE; repeatable")
	f.IntVar(&o.flags.Replicas, "replicas", 1, "number of CCM replicas; several elect a leader")
	for _, none := range []string{"arg", "env", "replicas"} {
		_ = cmd.RegisterFlagCompletionFunc(none, complete.None) // its only error is an unknown flag
	}
	output.BindFormat(cmd, &o.format, output.Plain, output.JSON, output.YAML)
	return cmd
}

func swap(ctx context.Context, o *options) error {
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	p, err := resolve(ctx, o.flags.Source, o.streams)
	if err != nil {
		return err
	}
	done, err := command.Do(ctx, t, func(c *api.Client, ctx context.Context) (api.Done, error) {
		return c.SwapCCM(ctx, api.CCMRequest{
			Path: p.Path, Source: p.Source, Version: p.Version, Digest: p.Digest,
			Args: o.flags.Args, Env: o.flags.Env, Replicas: o.flags.Replicas,
		})
	})
	return show(o, done, err)
}

// show prints what was done.
func show(o *options, done api.Done, err error) error {
	switch {
	case err != nil:
		return err
	case o.format == output.JSON || o.format == output.YAML:
		return output.Object(o.streams.Out, o.format, "Result", done)
	}
	_, err = fmt.Fprintf(o.streams.Out, "ccm: %s\n", done.Message)
	return err
}

// NewCmdRestart returns the command; runF, when not nil, runs in its place.
func NewCmdRestart(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, connect: d.Connect}
	cmd := &cobra.Command{
		Use:               "restart",
		Short:             "Restart the CCM",
		Long:              "Stop the CCM with SIGTERM and start it again. The command returns when the new\nprocess is healthy.",
		Example:           "  vsphere-sandbox ccm restart",
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
			done, err := command.Do(cmd.Context(), t, (*api.Client).RestartCCM)
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
		Short: "Show which CCM runs and whether it is healthy",
		Long: `Show which CCM runs, where it comes from, whether it is healthy, and which
replica is the leader. Exits with 3 when a replica is not healthy, or when the
newest build of a program that --ccm-watch watches did not start. Warns about
datacenters, tag categories and networks in vsphere.conf that a vCenter does
not have, if the CCM is builtin.`,
		Example: `  vsphere-sandbox ccm status
  vsphere-sandbox ccm status -o json`,
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
	s, err := command.Ask(ctx, t, (*api.Client).Status)
	if err != nil {
		return err
	}
	var rows []api.Component
	var ill []string
	for _, c := range s.Components {
		if !c.IsCCM() {
			continue
		}
		rows = append(rows, c)
		if c.Health != "healthy" {
			ill = append(ill, c.Name+": "+c.Health)
		}
		if c.FailedBuild != "" {
			ill = append(ill, c.Name+": "+c.FailedBuild)
		}
	}
	if len(rows) == 0 {
		return &report.Error{Code: "not-found", Message: "the sandbox has no cloud controller manager", Try: command.Program + " ccm swap builtin"}
	}
	if err := output.List(o.streams.Out, o.flags, table(o.now()), rows); err != nil {
		return err
	}
	warnings, err := missingNames(ctx, t)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(o.streams.Err, "warning:", printable.Line(w))
	}
	if len(ill) > 0 {
		return &report.Error{Code: "degraded", Message: strings.Join(ill, "; "), Try: command.Program + " logs ccm", Exit: report.Degraded}
	}
	return nil
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
	return output.Kind[api.Component]{
		Name: "Component",
		Ref:  func(c api.Component) string { return "component/" + c.Name },
		Columns: []output.Column[api.Component]{
			{Header: "NAME", Value: func(c api.Component) string { return c.Name }},
			{Header: "SOURCE", Value: func(c api.Component) string { return c.Source }},
			{Header: "VERSION", Value: func(c api.Component) string { return c.Version }},
			{Header: "STATE", Value: func(c api.Component) string { return c.State }},
			{Header: "HEALTH", Value: func(c api.Component) string { return c.Health }},
			{Header: "LEADER", Value: leader},
			{Header: "RESTARTS", Value: func(c api.Component) string { return itoa(c.Restarts) }},
			{Header: "AGE", Value: func(c api.Component) string { return output.Age(now, c.Since) }},
			{Header: "PID", Value: func(c api.Component) string { return itoa(c.PID) }, Wide: true},
			{Header: "DIGEST", Value: func(c api.Component) string { return c.Digest }, Wide: true},
		},
	}
}

func leader(c api.Component) string {
	if c.Leader {
		return "yes"
	}
	return ""
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

// NewCmdFetch returns the command; runF, when not nil, runs in its place.
func NewCmdFetch(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, flags: Flags{Replicas: 1}}
	runF = command.Or(runF, fetch)
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
			o.flags.Source = args[0]
			if err := o.flags.Check(); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
	}
	output.BindFormat(cmd, &o.format, output.Plain, output.JSON, output.YAML)
	return cmd
}

func fetch(ctx context.Context, o *options) error {
	p, err := resolve(ctx, o.flags.Source, o.streams)
	if err != nil {
		return err
	}
	p.Path = cmp.Or(p.Path, "builtin")
	if o.format == output.JSON || o.format == output.YAML {
		return output.Object(o.streams.Out, o.format, "Program", p)
	}
	_, err = fmt.Fprintln(o.streams.Out, p.Path)
	return err
}

func itoa(n int) string { return strconv.Itoa(n) }
