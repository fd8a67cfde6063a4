package scenario

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret/mask"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/record"
)

type recordOptions struct {
	streams *iostreams.Streams
	now     func() time.Time
	connect func(context.Context) (*command.Target, error)
	secrets []string // of the variables

	since  time.Duration
	follow bool
	file   string
	force  bool
	as     string
	format string
}

// NewCmdRecord returns the command; runF, when not nil, runs in its place.
func NewCmdRecord(d *command.Deps, runF func(context.Context, *recordOptions) error) *cobra.Command {
	o := &recordOptions{streams: d.Streams, now: d.Now, connect: d.Connect, secrets: secret.Variables(d.Getenv), format: output.YAML}
	runF = command.Or(runF, recordIt)
	cmd := &cobra.Command{
		Use:   "record",
		Short: "Create a scenario from what you did to a sandbox",
		Long: `Create a scenario from what you did to a sandbox: faults that you injected and
healed, VMs that you powered, moved or destroyed, the pauses between them, and
expectations drafted from the states of the nodes.

Past actions are recorded; with -f, also new ones until Ctrl-C. The scenario is
printed or written to a file. It is a draft: review it.`,
		Example: `  vsphere-sandbox scenario record --since 5m > mine.yaml
  vsphere-sandbox scenario record -f --file mine.yaml --as my-outage`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.since < 0 {
				return report.UsageError("--since 5m", "--since %s is in the future", o.since)
			}
			if o.since > 0 && o.follow {
				return report.UsageError(command.Program+" scenario record --since "+o.since.String(), "--since and --follow exclude each other")
			}
			return runF(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&o.since, "since", 0, "record actions not older than this (5m, 1h); default: all")
	f.BoolVarP(&o.follow, "follow", "f", false, "record new actions until Ctrl-C")
	f.StringVar(&o.file, "file", "", "write to this `FILE`")
	f.BoolVar(&o.force, "force", false, "overwrite the file")
	f.StringVar(&o.as, "as", "", "`NAME` of the scenario")
	output.BindFormat(cmd, &o.format, output.YAML, output.JSON)
	_ = cmd.MarkFlagFilename("file", "yaml", "yml") // its only error is an unknown flag
	_ = cmd.RegisterFlagCompletionFunc("as", complete.None)
	return cmd
}

// recordIt records. The end of ctx ends what is followed, and is not an error then.
func recordIt(ctx context.Context, o *recordOptions) error {
	t, err := o.connect(ctx)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(o.file); o.file != "" && err == nil && !o.force {
		return report.UsageError("--force   # to overwrite it", "file %s already exists", o.file)
	}
	status, err := command.Ask(ctx, t, (*api.Client).Status)
	if err != nil {
		return err
	}
	m := &mask.Mask{}
	m.Add(o.secrets...)
	if _, err := command.Ask(ctx, t, func(c *api.Client, ctx context.Context) (struct{}, error) {
		return struct{}{}, c.Mask(ctx, m, t.Dir)
	}); err != nil {
		return err
	}
	options := record.Options{Name: o.as, Follow: o.follow, OnAction: func(text string) { fmt.Fprintf(o.streams.Err, "  %s\n", text) }}
	switch {
	case o.follow:
		options.Since = status.LastEvent
		fmt.Fprintf(o.streams.Err, "recording what is done to sandbox %q; Ctrl-C stops it\n", t.Name)
	case o.since > 0:
		if options.Since, err = before(ctx, t, o.now().Add(-o.since)); err != nil {
			return err
		}
	}
	text, err := record.Record(ctx, t.Client, options)
	if err != nil {
		if ctx.Err() != nil && !o.follow {
			return ctx.Err()
		}
		return &report.Error{Code: "nothing-recorded", Message: err.Error(), Try: "vsphere-sandbox events --since 5m"}
	}
	text = m.Bytes(text)
	if o.format == output.JSON {
		if text, err = yaml.YAMLToJSON(text); err != nil {
			return err
		}
		text = append(text, '\n')
	}
	return o.write(text)
}

// before returns the last event before a time, or 0.
func before(ctx context.Context, t *command.Target, when time.Time) (uint64, error) {
	last := uint64(0)
	_, err := command.Ask(ctx, t, func(c *api.Client, ctx context.Context) (struct{}, error) {
		return struct{}{}, c.Events(ctx, 0, false, func(e event.Event, _ uint64) error {
			if e.Time.Before(when) {
				last = e.Seq
			}
			return nil
		})
	})
	return last, err
}

func (o *recordOptions) write(text []byte) error {
	if o.file == "" {
		_, err := o.streams.Out.Write(text)
		return err
	}
	how := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if !o.force {
		how |= os.O_EXCL
	}
	f, err := os.OpenFile(o.file, how, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return report.UsageError("--force   # to overwrite it", "file %s already exists", o.file)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	fmt.Fprintf(o.streams.Err, "recorded in %s; to run it:\n  vsphere-sandbox scenario run %[1]s\n", o.file)
	return nil
}
