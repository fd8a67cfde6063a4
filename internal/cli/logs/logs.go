package logs

import (
	"context"
	"errors"
	"fmt"
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
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "logs [COMPONENT]",
		Short: "Print the log of a component, or list the logs",
		Long: `Print the log of a component. Without one, list the components that have a log.

The sandbox need not run: what it left when it crashed is there to be read.`,
		Example: `  vsphere-sandbox logs
  vsphere-sandbox logs ccm -f --tail 20
  vsphere-sandbox logs node/worker-west-1`,
		Args:              command.AtMostOne,
		ValidArgsFunction: complete.Once(complete.Logs(d)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.component = args[0]
			}
			switch {
			case o.follow && o.component == "":
				return report.UsageError(command.Program+" logs", "--follow needs a COMPONENT")
			case o.tail < -1:
				return report.UsageError("--tail 20", "--tail %d is not a number of lines", o.tail)
			}
			return runF(cmd.Context(), o)
		},
	}
	o.flags.Bind(cmd)
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "go on with what is written from now on")
	cmd.Flags().IntVar(&o.tail, "tail", -1, "print only that many lines of what there is; -1 prints all")
	return cmd
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
