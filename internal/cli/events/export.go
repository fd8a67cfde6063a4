package events

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret/mask"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

type exportOptions struct {
	streams *iostreams.Streams
	now     func() time.Time
	connect func(context.Context) (*command.Target, error)
	secrets []string // of the variables

	file   string // "" is standard output
	follow bool
	force  bool
}

// NewCmdExport returns the command; runF, when not nil, runs in its place.
func NewCmdExport(d *command.Deps, runF func(context.Context, *exportOptions) error) *cobra.Command {
	o := &exportOptions{streams: d.Streams, now: d.Now, connect: d.Connect, secrets: secret.Variables(d.Getenv)}
	runF = command.Or(runF, runExport)
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Save the recording of a sandbox, to replay it later",
		Long: `Save the recording of a sandbox: every event, and every change of its nodes,
VMs, hosts, vCenters, components, volumes, faults and calls, with its time. Play
it with "tui --replay FILE" on any machine; no sandbox is needed. Passwords,
keys and tokens that the sandbox knows are masked.

A sandbox records from its start and keeps the newest 64 MiB. The file begins
with the full state at the start of the oldest part that is kept.

Without FILE, or with -, the recording is printed: one JSON object a line, the
first of kind Recording. With -f, new events are added until Ctrl-C or the end
of the sandbox. The file appears when it is complete.`,
		Example: `  vsphere-sandbox events export run.jsonl
  vsphere-sandbox events export run.jsonl -f
  vsphere-sandbox events export | jq -c 'select(.node.name == "worker-west-1") | [.time, .node.ready]'`,
		Args:              command.AtMostOne,
		ValidArgsFunction: recordings,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] == "" {
				return report.UsageError("vsphere-sandbox events export run.jsonl", "the name of FILE is empty")
			}
			if len(args) > 0 && args[0] != "-" {
				o.file = args[0]
			}
			if o.force && o.file == "" {
				return report.UsageError("vsphere-sandbox events export run.jsonl --force", "--force replaces a file, and none is given")
			}
			return runF(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&o.follow, "follow", "f", false, "add new events until Ctrl-C")
	f.BoolVar(&o.force, "force", false, "overwrite the file")
	return cmd
}

// recordings completes the one file.
func recordings(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"jsonl"}, cobra.ShellCompDirectiveFilterFileExt
}

func runExport(ctx context.Context, o *exportOptions) error {
	t, err := o.connect(ctx)
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
	out, err := o.open()
	if err != nil {
		return err
	}
	if o.follow && o.streams.ErrTTY() {
		fmt.Fprintf(o.streams.Err, "recording sandbox %q; Ctrl-C stops it\n", t.Name)
	}
	c := &copier{w: out, mask: m, flush: o.follow}
	err = c.copy(ctx, t.Client, o.follow)
	if err != nil {
		err = t.Explain(ctx, err, command.AnswerTime)
	}
	if o.follow && ctx.Err() != nil && c.began {
		err = nil // that is how it ends
	}
	if err != nil && !(o.follow && c.began) { // else what was recorded is worth keeping
		out.Discard()
		return err
	}
	if kerr := out.keep(); kerr != nil {
		return errors.Join(err, kerr)
	}
	c.show(o.streams.Err, o.now().Location(), o.file)
	return err
}

// open returns where the recording goes.
func (o *exportOptions) open() (sink, error) {
	if o.file == "" {
		return stdout{o.streams.Out}, nil
	}
	return create(o.file, o.force)
}

// sink takes a recording: until one of keep and Discard is called.
type sink interface {
	io.Writer
	keep() error
	Discard()
}

type stdout struct{ io.Writer }

func (stdout) keep() error { return nil }
func (stdout) Discard()    {}

// errThere is returned for an existing file without permission to replace it.
func errThere(path string) error {
	return report.UsageError("--force   # to overwrite it", "file %s already exists", path)
}

// there reports whether there is something at a path.
func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// copier copies a recording, and counts what is in it.
type copier struct {
	w     io.Writer
	mask  *mask.Mask
	flush bool // after each line, for a live reader

	began  bool
	head   api.Recording
	to     time.Time
	synced bool
	// events are all that are in it, changes those after what there was at the beginning.
	events, changes int
	bytes           int64
}

func (c *copier) copy(ctx context.Context, from *api.Client, follow bool) error {
	w := bufio.NewWriterSize(c.w, 64<<10)
	put := func(v any) error {
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		b = c.mask.Bytes(b)
		c.bytes += int64(len(b)) + 1
		if _, err := w.Write(append(b, '\n')); err != nil {
			return err
		}
		if c.flush {
			return w.Flush()
		}
		return nil
	}
	err := from.Record(ctx, follow, func(head api.Recording) error {
		c.began, c.head, c.to = true, head, head.Began
		return put(head)
	}, func(line api.Recorded) error {
		switch c.to = line.Time; {
		case line.Event != nil:
			c.events++
		case line.Synced:
			c.synced = true
		case c.synced:
			c.changes++
		}
		return put(line)
	})
	if ferr := w.Flush(); err == nil {
		err = ferr
	}
	return err
}

// show says what was copied, and what to do with the file.
func (c *copier) show(w io.Writer, zone *time.Location, file string) {
	clock := func(t time.Time) string { return t.In(zone).Format("15:04:05") }
	took := c.to.Sub(c.head.Began).Round(time.Second)
	fmt.Fprintf(w, "recorded of sandbox %q: %d events, %d changes, %s to %s (%s), %sB\n",
		c.head.Sandbox, c.events, c.changes, clock(c.head.Began), clock(c.to), took, output.Bytes(c.bytes))
	if file != "" {
		fmt.Fprintf(w, "to replay it:\n  vsphere-sandbox tui --replay %s\n", file)
	}
}

// pending is a file that is not there before it is complete.
type pending struct {
	*atomicfile.File
	path  string
	force bool
}

// create makes one for its owner only. A file that is there is replaced with force only, and stays until then.
func create(path string, force bool) (*pending, error) {
	if there(path) && !force {
		return nil, errThere(path)
	}
	f, err := atomicfile.Create(path, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &report.Error{
			Code: "usage", Message: "events export " + path, Try: "mkdir -p " + filepath.Dir(path), Exit: report.Usage, Err: fs.ErrNotExist,
		}
	} else if err != nil {
		return nil, err
	}
	return &pending{f, path, force}, nil
}

func (p *pending) keep() error {
	if p.force {
		return p.Commit()
	}
	err := p.CommitNew()
	if errors.Is(err, fs.ErrExist) {
		return errThere(p.path)
	}
	return err
}
