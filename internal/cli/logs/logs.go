package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
)

type options struct {
	streams *iostreams.Streams
	now     func() time.Time
	find    func(context.Context) (command.Sandbox, error)
	logs    func(name string) (map[string]string, error)

	component string
	follow    bool
	tail      int
	flags     output.Flags
}

// NewCmdLogs returns the command; runF, when not nil, runs in its place.
func NewCmdLogs(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, now: d.Now, find: d.Find, logs: d.Sandboxes.Logs}
	runF = command.Or(runF, run)
	cmd := &cobra.Command{
		Use:   "logs [COMPONENT]",
		Short: "Print the log of a component, or list components",
		Long: `Print the log of a component. Without one, list the components that have a log.

It also works for a sandbox that crashed.`,
		Example: `  vsphere-sandbox logs
  vsphere-sandbox logs ccm -f --tail 20
  vsphere-sandbox logs node/worker-west-1`,
		Args:              command.AtMostOne,
		ValidArgsFunction: complete.Once(complete.Logs(d)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.component = args[0]
			}
			if err := o.check(); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
	}
	o.bind(cmd)
	return cmd
}

// bind adds the flags.
func (o *options) bind(cmd *cobra.Command) {
	o.flags.Bind(cmd)
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "keep printing new lines")
	cmd.Flags().IntVar(&o.tail, "tail", -1, "number of existing lines to print; -1 prints all")
}

// check refuses flags that cannot be right.
func (o *options) check() error {
	switch {
	case o.follow && o.component == "":
		return report.UsageError(command.Program+" logs", "--follow needs a COMPONENT")
	case o.tail < -1:
		return report.UsageError("--tail 20", "--tail %d is not a number of lines", o.tail)
	}
	return nil
}

func run(ctx context.Context, o *options) error {
	s, err := o.find(ctx)
	if err != nil {
		return err
	}
	files, err := o.logs(s.Name)
	if err != nil {
		return err
	}
	if o.component == "" {
		return list(o, files)
	}
	file, err := choose(files, o.component)
	if err != nil {
		return err
	}
	return cat(ctx, o.streams.Out, file, o.tail, o.follow)
}

// choose returns the log of a component, which may be called by the last part of its name, "worker-1", where that is
// clear.
func choose(files map[string]string, component string) (string, error) {
	if file, ok := files[component]; ok {
		return file, nil
	}
	names := sorted(files)
	var short []string
	for _, name := range names {
		if path.Base(name) == component {
			short = append(short, name)
		}
	}
	switch len(short) {
	case 1:
		return files[short[0]], nil
	case 0:
		for _, name := range names {
			if base := path.Base(name); base != name {
				names = append(names, base)
			}
		}
		err := command.NotFound("log", component, names)
		if e, ok := errors.AsType[*report.Error](err); ok {
			e.Try = command.Program + " logs, which lists them"
		}
		return "", err
	}
	return "", &report.Error{
		Code: "ambiguous", Message: fmt.Sprintf("several components are called %q: %s", component, strings.Join(short, ", ")),
		Try: command.Program + " logs " + short[0],
	}
}

func sorted(files map[string]string) []string {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// log is one line of the list.
type log struct {
	Component string    `json:"component"`
	Bytes     int64     `json:"bytes"`
	Written   time.Time `json:"written,omitzero"`
	Path      string    `json:"path"`
}

func list(o *options, files map[string]string) error {
	var items []log
	for _, name := range sorted(files) {
		item := log{Component: name, Path: files[name]}
		if info, err := os.Stat(item.Path); err == nil {
			item.Bytes, item.Written = info.Size(), info.ModTime()
		}
		items = append(items, item)
	}
	if len(items) == 0 {
		fmt.Fprintln(o.streams.Err, "no logs")
	}
	now := o.now()
	return output.List(o.streams.Out, o.flags, output.Kind[log]{
		Name: "Log",
		Ref:  func(l log) string { return "log/" + l.Component },
		Columns: []output.Column[log]{
			{Header: "COMPONENT", Value: func(l log) string { return l.Component }},
			{Header: "SIZE", Value: func(l log) string { return output.Bytes(l.Bytes) }},
			{Header: "WRITTEN", Value: func(l log) string { return output.Age(now, l.Written) + " ago" }},
			{Header: "PATH", Wide: true, Value: func(l log) string { return l.Path }},
		},
	}, items)
}

// look is how often a file that is followed is looked at. Another process writes it, and file notifications differ per
// system; a person does not see the difference.
const look = 200 * time.Millisecond

// gone is how many looks must find no file for it to be gone for good.
const gone = 3

// cat writes a file, or its last lines when tail >= 0, with terminal escapes escaped. With follow it continues with what
// is appended, until ctx ends or the file is gone. It follows a file that is rotated.
func cat(ctx context.Context, to io.Writer, path string, tail int, follow bool) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	w := printable.NewWriter(to)
	defer func() { err = errors.Join(err, w.Flush()) }()
	defer func() { f.Close() }()
	if tail >= 0 {
		if err := seekTail(f, tail); err != nil {
			return fmt.Errorf("log: %w", err)
		}
	}
	tick := time.NewTicker(look)
	defer tick.Stop()
	for missing := 0; ; {
		if _, err := io.Copy(w, f); err != nil {
			return fmt.Errorf("log: %w", err)
		}
		if !follow {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		next, err := successor(f, path)
		if errors.Is(err, fs.ErrNotExist) {
			if missing++; missing < gone {
				continue // moved away a moment ago
			}
			_, err := io.Copy(w, f)
			return err // the sandbox has ended
		} else if err != nil {
			return fmt.Errorf("log: %w", err)
		}
		missing = 0
		if next != nil {
			if _, err := io.Copy(w, f); err != nil { // what came before it was moved
				_ = next.Close()
				return fmt.Errorf("log: %w", err)
			}
			_ = f.Close()
			f = next
		}
	}
}

// successor returns the file that is at path now when it is not f any more, nil when it still is. A file that has
// become shorter is read from its start.
func successor(f *os.File, path string) (*os.File, error) {
	now, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	was, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(now, was) {
		return os.Open(path)
	}
	if at, err := f.Seek(0, io.SeekCurrent); err == nil && at > now.Size() {
		_, err := f.Seek(0, io.SeekStart)
		return nil, err
	}
	return nil, nil
}

// seekTail moves to the beginning of the last lines of f.
func seekTail(f *os.File, lines int) error {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || lines == 0 {
		return err
	}
	buf := make([]byte, 32<<10)
	for at := end; at > 0; {
		n := min(at, int64(len(buf)))
		at -= n
		chunk := buf[:n]
		if _, err := f.ReadAt(chunk, at); err != nil && err != io.EOF {
			return err
		}
		for i := len(chunk); ; {
			i = bytes.LastIndexByte(chunk[:i], '\n')
			if i < 0 {
				break
			}
			if at+int64(i)+1 == end {
				continue // the end of the last line
			}
			if lines--; lines == 0 {
				_, err := f.Seek(at+int64(i)+1, io.SeekStart)
				return err
			}
		}
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

// Follow writes the last lines of a component's log, one of files, and continues with what is appended until ctx ends,
// which is an error, or the log is gone.
func Follow(ctx context.Context, w io.Writer, files map[string]string, component string, tail int) error {
	path, err := choose(files, component)
	if err != nil {
		return err
	}
	return cat(ctx, w, path, tail, true)
}
