package ccm

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
)

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
	source, err := ccm.Parse(c.Program.Source)
	if err != nil {
		return c, Explain(err)
	}
	switch source.Kind() {
	case ccm.Builtin, ccm.File:
		return c, nil
	case ccm.Image, ccm.Archive, ccm.Module:
	}
	version := regexp.MustCompile(`v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`).FindString(c.Program.Version)
	if version == "" {
		return c, report.UsageError("--ccm-manifest FILE", "--ccm %s: it does not say which release it is, so name the manifest to deploy it with", f.Source)
	}
	c.Manifest, err = ccm.Manifest(ctx, version, ccm.Options{Progress: func(said string) { fmt.Fprintf(streams.Err, "  … ccm: %s\n", said) }})
	return c, Explain(err)
}

// NewCmdFetch returns the command; runF, when not nil, runs in its place.
func NewCmdFetch(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, flags: Flags{Replicas: 1}}
	if runF == nil {
		runF = fetch
	}
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
	if p.Path == "" {
		p.Path = "builtin"
	}
	if o.format == output.JSON || o.format == output.YAML {
		return output.Object(o.streams.Out, o.format, "Program", p)
	}
	_, err = fmt.Fprintln(o.streams.Out, p.Path)
	return err
}

func itoa(n int) string { return strconv.Itoa(n) }
