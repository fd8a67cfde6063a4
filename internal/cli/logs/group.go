package logs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/complete"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
)

// Part is a part of what a group of commands is about: a name, and which components it has.
type Part struct {
	Name string
	Has  func(component string) bool
}

// Group is a command that prints the logs of the components of one group, "csi logs".
type Group struct {
	// Command has the texts.
	Command *cobra.Command
	// Parts are the words for several components. The first one is printed without an argument. A component of a part can also be
	// named.
	Parts []Part
}

// NewCmdGroup completes the command "logs [PART]".
func NewCmdGroup(d *command.Deps, g Group) *cobra.Command {
	o := &options{streams: d.Streams, now: d.Now, find: d.Find, logs: d.Sandboxes.Logs}
	cmd := g.Command
	cmd.Use, cmd.Args = "logs [PART]", command.AtMostOne
	cmd.ValidArgsFunction = complete.Once(cobra.FixedCompletions(g.words(), cobra.ShellCompDirectiveNoFileComp))
	o.bind(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.component = g.Parts[0].Name
		if len(args) > 0 {
			o.component = args[0]
		}
		if err := o.check(); err != nil {
			return err
		}
		return g.run(cmd.Context(), o, cmd.Flags().Changed("output"))
	}
	return cmd
}

func (g Group) words() []string {
	words := make([]string, len(g.Parts))
	for i, p := range g.Parts {
		words[i] = p.Name
	}
	return words
}

// run prints the logs, or lists them.
func (g Group) run(ctx context.Context, o *options, only bool) error {
	s, err := o.find(ctx)
	if err != nil {
		return err
	}
	files, err := o.logs(s.Name)
	if err != nil {
		return err
	}
	chosen, err := g.choose(files, o.component)
	switch {
	case err != nil:
		return err
	case only:
		return list(o, chosen)
	}
	return catAll(ctx, o.streams, chosen, o.tail, o.follow)
}

// choose returns the logs of a part, or of a component that is in one.
func (g Group) choose(files map[string]string, part string) (map[string]string, error) {
	chosen, mine := map[string]string{}, map[string]string{}
	for name, file := range files {
		for _, p := range g.Parts {
			if p.Has(name) {
				mine[name] = file
				if p.Name == part {
					chosen[name] = file
				}
			}
		}
	}
	if len(chosen) > 0 {
		return chosen, nil
	}
	try := command.Program + " logs, which lists those of all components"
	if slices.Contains(g.words(), part) {
		e := &report.Error{Code: "not-found", Message: "no component of " + part + " has a log", Try: try}
		if len(mine) > 0 {
			e.Message += "; there are logs of " + strings.Join(sorted(mine), ", ")
		}
		return nil, e
	}
	file, err := choose(mine, part)
	for name, f := range mine { // a node may be named without node/
		if err == nil && f == file {
			chosen[name] = f
		}
	}
	return chosen, err
}

// catAll writes one log as it is, and several with the name of the component before each line.
func catAll(ctx context.Context, streams *iostreams.Streams, files map[string]string, tail int, follow bool) error {
	names := sorted(files)
	if len(names) == 1 {
		return cat(ctx, streams.Out, files[names[0]], tail, follow)
	}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	if !follow {
		g.SetLimit(1) // one after the other
	}
	for _, name := range names {
		g.Go(func() error {
			w := &prefixed{to: streams.Out, mu: &mu, name: name}
			return errors.Join(cat(ctx, w, files[name], tail, follow), w.flush())
		})
	}
	return g.Wait()
}

// prefixed writes whole lines with a name before each. Several of them share a writer, and mu.
type prefixed struct {
	to   io.Writer
	mu   *sync.Mutex
	name string
	rest []byte
}

// Write implements [io.Writer].
func (p *prefixed) Write(b []byte) (int, error) {
	p.rest = append(p.rest, b...)
	end := bytes.LastIndexByte(p.rest, '\n') + 1
	if end == 0 {
		return len(b), nil
	}
	var out []byte
	for line := range bytes.Lines(p.rest[:end]) {
		out = append(append(out, p.name+": "...), line...)
	}
	p.rest = append([]byte(nil), p.rest[end:]...)
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.to.Write(out)
	return len(b), err
}

// flush ends an unfinished line.
func (p *prefixed) flush() error {
	if len(p.rest) == 0 {
		return nil
	}
	_, err := p.Write([]byte{'\n'})
	return err
}
