// Package list is the command that lists sandboxes, the dead among them.
package list

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/output"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/tutorial"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/snapshot"
)

// patience is how long a sandbox may take to tell how it is: the list must not hang with it.
const patience = 1500 * time.Millisecond

// The states of a sandbox beside its phases, and, of one that does not run, the states of package command.
const (
	silent    = "no-answer" // there is a process, and no answer from it
	suspended = "suspended" // its process was stopped, as by Ctrl-Z
	removed   = "removed"   // its directory was, and it is about to end
	stopped   = "stopped"   // by "stop": only its state is there
)

// sandbox is one line.
type sandbox struct {
	Name      string        `json:"name"`
	State     string        `json:"state"`
	Topology  string        `json:"topology,omitempty"`
	Nodes     api.NodeCount `json:"nodes"`
	VCenters  int           `json:"vcenters"`
	Speed     float64       `json:"speed,omitempty"`
	StartedAt time.Time     `json:"startedAt,omitzero"`
	PID       int           `json:"pid,omitempty"`
	Server    string        `json:"server,omitempty"`
	Dir       string        `json:"dir"`
	// Crash is what ended it; only of one that crashed.
	Crash *command.Crash `json:"crash,omitempty"`

	answers bool
}

type options struct {
	streams   *iostreams.Streams
	sandboxes command.Sandboxes
	now       func() time.Time
	tutorials func() []string

	flags output.Flags
}

// NewCmdList returns the command; runF, when not nil, runs in its place.
func NewCmdList(d *command.Deps, runF func(context.Context, *options) error) *cobra.Command {
	o := &options{streams: d.Streams, sandboxes: d.Sandboxes, now: d.Now, tutorials: func() []string { return tutorial.Sandboxes(d) }}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List sandboxes",
		Long: `List sandboxes with their phase. Phases of a sandbox that does not answer:

  stopped      saved by "stop"; "start" continues it
  suspended    its process was stopped by Ctrl-Z or SIGSTOP; "fg" or
               "kill -CONT" continues it
  crashed      crashed or killed; logs, events and recording are kept until
               "down", "doctor --fix" or the next "up" of its name
  retained     stopped, and its files were kept on request
  left-behind  stopped, but containers or other things could not be removed
  removed      its directory was deleted while it ran; it stops soon

Tutorials keep their sandboxes apart; they are named below the table.`,
		Example: `  vsphere-sandbox list
  vsphere-sandbox list -o json`,
		Args:              command.NoArgs,
		ValidArgsFunction: complete.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return command.Or(runF, run)(cmd.Context(), o)
		},
	}
	o.flags.Bind(cmd)
	return cmd
}

func run(ctx context.Context, o *options) error {
	found, err := o.sandboxes.List(ctx)
	if err != nil {
		return err
	}
	items := make([]sandbox, len(found))
	var wg sync.WaitGroup
	for i, s := range found {
		wg.Go(func() { items[i] = describe(ctx, s) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if items, err = o.withStopped(items); err != nil {
		return err
	}
	if err := output.List(o.streams.Out, o.flags, kind(o.now()), items); err != nil {
		return err
	}
	if len(items) == 0 {
		fmt.Fprintf(o.streams.Err, "no sandboxes\ntry: %s up\n", command.Typed(os.Args[0]))
	}
	for _, line := range o.tutorials() {
		fmt.Fprintln(o.streams.Err, line)
	}
	for _, s := range items {
		if s.State == removed {
			fmt.Fprintf(o.streams.Err, "the directory of sandbox %q was removed while it runs, as process %d: it is about to end\ntry: %s down --name %[1]s   # which waits for that\n", s.Name, s.PID, command.Typed(os.Args[0]))
		}
		if s.Crash != nil {
			fmt.Fprintf(o.streams.Err, "sandbox %q crashed: %s\nwhat it left is in %s\ntry: %s logs --name %[1]s\ntry: %[4]s down --name %[1]s   # removes it\n", s.Name, s.Crash.Text(), s.Dir, command.Typed(os.Args[0]))
		}
	}
	return nil
}

// withStopped adds the sandboxes that were stopped.
func (o *options) withStopped(items []sandbox) ([]sandbox, error) {
	root, err := o.sandboxes.Root()
	if err != nil {
		return nil, err
	}
	names, err := snapshot.Sandboxes(root)
	if err != nil {
		return nil, err
	}
	running := len(items)
	for _, name := range names {
		if slices.ContainsFunc(items, func(s sandbox) bool { return s.Name == name }) {
			continue
		}
		m, err := snapshot.In(root, name).Open(snapshot.Stopped)
		if err != nil {
			continue // "snapshot list" reports what is wrong with it
		}
		items = append(items, sandbox{
			Name: name, State: stopped, Topology: m.Topology, Nodes: api.NodeCount{Wanted: m.Nodes}, VCenters: len(m.Addresses), Speed: m.Speed, StartedAt: m.SavedAt, Dir: m.Path,
		})
	}
	if len(items) > running {
		slices.SortStableFunc(items, func(a, b sandbox) int { return strings.Compare(a.Name, b.Name) })
	}
	return items, nil
}

// describe asks a sandbox how it is.
func describe(ctx context.Context, s command.Sandbox) sandbox {
	line := sandbox{Name: s.Name, State: s.State(), Dir: s.Dir, PID: s.PID, StartedAt: s.StartedAt, Topology: s.Topology, Crash: s.Crash}
	if !s.Running {
		line.PID = 0
		return line
	}
	if s.Removed {
		line.State = removed
		return line
	}
	if instance.Suspended(ctx, s.PID) {
		line.State = suspended
		return line
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	status, err := api.NewClient(s.Socket).Status(ctx)
	if err != nil {
		line.State = silent
		return line
	}
	line.answers = true
	line.State, line.Topology, line.Nodes, line.VCenters = string(status.Phase), status.Topology, status.Nodes, len(status.VCenters)
	line.Speed, line.StartedAt, line.PID, line.Server = status.Speed, status.StartedAt, status.PID, status.Server
	return line
}

func kind(now time.Time) output.Kind[sandbox] {
	type column = output.Column[sandbox]
	return output.Kind[sandbox]{
		Name: "Sandbox",
		Ref:  func(s sandbox) string { return "sandbox/" + s.Name },
		Columns: []column{
			{Header: "NAME", Value: func(s sandbox) string { return s.Name }},
			{Header: "STATE", Value: func(s sandbox) string { return s.State }},
			{Header: "TOPOLOGY", Value: func(s sandbox) string { return s.Topology }},
			{Header: "VCENTERS", Value: whenAnswering(func(s sandbox) string { return strconv.Itoa(s.VCenters) })},
			{Header: "READY", Value: whenAnswering(func(s sandbox) string { return fmt.Sprintf("%d/%d", s.Nodes.Ready, s.Nodes.Wanted) })},
			{Header: "AGE", Value: func(s sandbox) string { return output.Age(now, s.StartedAt) }},
			{Header: "SPEED", Wide: true, Value: whenAnswering(func(s sandbox) string { return fmt.Sprintf("%g", s.Speed) })},
			{Header: "PID", Wide: true, Value: whenAnswering(func(s sandbox) string { return strconv.Itoa(s.PID) })},
			{Header: "SERVER", Wide: true, Value: func(s sandbox) string { return s.Server }},
			{Header: "DIRECTORY", Wide: true, Value: func(s sandbox) string { return s.Dir }},
		},
	}
}

// whenAnswering returns value for a sandbox that answered, and nothing for one that did not.
func whenAnswering(value func(sandbox) string) func(sandbox) string {
	return func(s sandbox) string {
		if !s.answers {
			return ""
		}
		return value(s)
	}
}
