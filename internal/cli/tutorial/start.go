package tutorial

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenterconfig"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial/guide"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial/markdown"
	"github.com/vsphere-sandbox/vsphere-sandbox/tutorials"
)

type startOptions struct {
	streams *iostreams.Streams
	shelf   func() (guide.Shelf, error)
	getenv  func(string) string
	self    string
	typed   string // how the program is called

	name  string
	from  string
	again bool
	yes   bool
}

// NewCmdStart returns the command; runF, when not nil, runs in its place.
func NewCmdStart(d *command.Deps, runF func(context.Context, *startOptions) error) *cobra.Command {
	o := &startOptions{
		streams: d.Streams, shelf: func() (guide.Shelf, error) { return shelf(d) }, getenv: d.Getenv, self: d.Self, typed: command.Typed(os.Args[0]),
	}
	runF = command.Or(runF, runStart)
	cmd := &cobra.Command{
		Use:   "start NAME",
		Short: "Start or continue a tutorial",
		Long: `Start or continue a tutorial in this terminal. NAME is its number, its name or
the beginning of its name. Press Enter to run each command here; or type it in
another terminal, which the printed line sets up, and the tutorial continues
when it is done. The result is compared with the page. If it differs, you see
how, what may have caused it, and what to do.

The tutorial uses its own directory and sandboxes; yours are not touched. Quit
at any time with q or Ctrl-C: your position and background sandboxes are kept
until you start it again, or run "tutorial stop". The last step removes all.

With --yes, all commands run without questions, also the optional ones that
break something. The first difference from the page ends it.

Exit status:
  0    finished, or left with q
  2    wrong name, or no terminal
  3    with --yes: a result differs from the page
  130  interrupted with Ctrl-C`,
		Example: `  vsphere-sandbox tutorial start 1
  vsphere-sandbox tutorial start first-run --from 5
  vsphere-sandbox tutorial start zones --again
  vsphere-sandbox tutorial start 2 --yes`,
		Args:              command.ExactlyOne("NAME"),
		ValidArgsFunction: complete1(),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			if cmd.Flags().Changed("from") && strings.TrimSpace(o.from) == "" {
				return report.UsageError("--from 3", "--from needs a step")
			}
			return runF(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.from, "from", "", "`STEP` to start at: its number, or the beginning of its heading")
	cmd.Flags().BoolVar(&o.again, "again", false, "start from the beginning; stop what is left of the last time")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "run everything without questions")
	// Cannot fail: the flag was added above.
	_ = cmd.RegisterFlagCompletionFunc("from", headings)
	return cmd
}

// headings completes steps of the tutorial that is on the line.
func headings(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	all, err := pages()
	if err != nil || len(args) == 0 {
		return nil, none
	}
	page, err := pick(all, args[0])
	if err != nil {
		return nil, none
	}
	return guide.Headings(page), none
}

func runStart(ctx context.Context, o *startOptions) error {
	all, err := pages()
	if err != nil {
		return err
	}
	page, err := pick(all, o.name)
	if err != nil {
		return err
	}
	if !o.yes && !(o.streams.InTTY() && o.streams.OutTTY()) {
		return &report.Error{
			Code: "no-terminal", Message: "a tutorial asks, and there is no terminal to ask at", Exit: report.Usage,
			Try: o.again1(page) + " --yes",
		}
	}
	shelf, err := o.shelf()
	if err != nil {
		return err
	}
	if o.again {
		if _, err := stopped(ctx, o.streams, shelf, page, o.self); err != nil {
			return explain(err, page)
		}
	}
	g := guide.Guide{
		Page: page, Shelf: shelf, Runner: tutorial.Runner{Binary: o.self, Files: tutorials.FS(), Patience: patience},
		Out: o.streams.Out, Style: lookOf(o),
		Env: o.envLine(page), Again: o.again1(page), Stop: o.typed + " tutorial stop " + page.Name,
		From: o.from, Yes: o.yes,
	}
	if !o.yes {
		g.Lines = lines(ctx, o.streams.In)
	}
	_, err = g.Run(ctx)
	return explain(err, page)
}

func (o *startOptions) again1(p *tutorial.Page) string { return o.typed + " tutorial start " + p.Name }

// envLine is what a reader pastes into another terminal, which stands elsewhere and has no variable of this one.
func (o *startOptions) envLine(p *tutorial.Page) string {
	sh := shellOf(o.getenv("SHELL"))
	program := o.typed
	if path, err := filepath.Abs(program); err == nil && strings.ContainsRune(program, filepath.Separator) {
		program = path
		if strings.ContainsAny(path, " '\"$`\\") {
			program = sh.quote(path)
		}
	}
	line := program + " tutorial env " + p.Name
	for _, name := range []string{ShelfEnv, instance.RootEnv} {
		if v := o.getenv(name); v != "" {
			line = "env " + name + "=" + sh.quote(v) + " " + line
			break // the first one settles it
		}
	}
	return sh.eval(line)
}

// explain gives errors of a guide their words.
func explain(err error, p *tutorial.Page) error {
	var (
		step   *guide.NoStep
		failed *guide.Failed
		differ *tutorial.Mismatch
	)
	name := command.Program + " tutorial "
	switch {
	case errors.Is(err, guide.ErrGuided):
		return &report.Error{
			Code: "tutorial-busy", Message: "tutorial " + p.Name + ": another terminal walks through it; end that with q",
			Try: `eval "$(` + name + "env " + p.Name + `)"` + "   # to be in the same world here",
		}
	case errors.As(err, &step):
		try := "--from 1 to " + itoa(len(step.Headings))
		if step.Guess != "" {
			try = "--from '" + step.Guess + "'"
		}
		return report.UsageError(try, "tutorial %s has no step %q; it has: %s", p.Name, step.Asked, strings.Join(step.Headings, ", "))
	case errors.As(err, &failed) && errors.As(err, &differ):
		return &report.Error{
			Code: "tutorial-differs", Message: differ.Where() + ": it is not as the page says", Exit: report.Degraded,
			Try: name + "start " + p.Name + "   # at a terminal, to continue anyway",
		}
	case errors.As(err, &failed):
		return &report.Error{Code: "tutorial-failed", Message: failed.Error(), Try: name + "start " + p.Name + " --again"}
	}
	return err
}

type stopOptions struct {
	streams *iostreams.Streams
	shelf   func() (guide.Shelf, error)
	self    string

	names []string
}

// NewCmdStop returns the command; runF, when not nil, runs in its place.
func NewCmdStop(d *command.Deps, runF func(context.Context, *stopOptions) error) *cobra.Command {
	o := &stopOptions{streams: d.Streams, shelf: func() (guide.Shelf, error) { return shelf(d) }, self: d.Self}
	runF = command.Or(runF, runStop)
	return &cobra.Command{
		Use:   "stop [NAME]",
		Short: "Stop a tutorial and delete its sandboxes and files",
		Long: `Stop a tutorial: stop its sandboxes, and delete its directory, including files
that you added, and your progress. Programs that you run in your own terminal
keep running. The default is the tutorial that is in progress.`,
		Example: `  vsphere-sandbox tutorial stop
  vsphere-sandbox tutorial stop 1`,
		Args:              command.AtMostOne,
		ValidArgsFunction: complete1(),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			return runF(cmd.Context(), o)
		},
	}
}

func runStop(ctx context.Context, o *stopOptions) error {
	shelf, err := o.shelf()
	if err != nil {
		return err
	}
	page, err := begun(shelf, o.names)
	if e := (*report.Error)(nil); errors.As(err, &e) && e.Code == noTutorial { // as "down" twice
		fmt.Fprintln(o.streams.Err, e.Message)
		return nil
	}
	if err != nil {
		return err
	}
	place, err := shelf.Place(page)
	if err != nil {
		fmt.Fprintln(o.streams.Err, err) // it is removed with any content
	}
	fmt.Fprintf(o.streams.Err, "tutorial %s: stopping\n", page.Name)
	left, err := stopped(ctx, o.streams, shelf, page, o.self)
	if reported := guide.Cleared(left); reported != "" {
		fmt.Fprintln(o.streams.Err, reported)
	}
	if err != nil {
		return explain(err, page)
	}
	if place == nil && len(left) == 0 {
		fmt.Fprintf(o.streams.Err, "tutorial %s: it had not been begun; nothing is left of it\n", page.Name)
		return nil
	}
	fmt.Fprintf(o.streams.Err, "tutorial %s: stopped, nothing of it is left\n", page.Name)
	return nil
}

// stopped is [guide.Shelf.Stop], which says what it waits for where sandboxes take long to go down.
func stopped(ctx context.Context, streams *iostreams.Streams, shelf guide.Shelf, page *tutorial.Page, binary string) (left []string, err error) {
	progress := vcenterconfig.NewProgress(streams.Err, streams.ErrTTY())
	defer progress.Close()
	progress.Step("tutorial " + page.Name + ": taking down what runs in it")
	return shelf.Stop(ctx, page, binary)
}

const (
	// patience is for how long one command may run; a reader can end it earlier.
	patience = 5 * time.Minute
	// widest is where lines are too long to be read well.
	widest = 100
)

// lines are what the reader types, until the end of the input. A read in progress when ctx ends continues until the
// next line, which is lost.
func lines(ctx context.Context, in io.Reader) <-chan string {
	found := make(chan string)
	go func() {
		defer close(found)
		s := bufio.NewScanner(in)
		for s.Scan() {
			select {
			case found <- s.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return found
}

// lookOf is how the terminal is written to.
func lookOf(o *startOptions) guide.Style {
	width := 0
	if f, ok := o.streams.Out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			width = w
		}
	}
	if width <= 0 {
		width = 80
	}
	width = min(width, widest)
	styled := o.streams.OutTTY() && o.getenv("NO_COLOR") == "" && o.getenv("TERM") != "dumb"
	look := markdown.Options{Width: width, Styled: styled, Link: link}
	return guide.Style{Width: width, Styled: styled, Text: func(text string) string { return markdown.Terminal(text, look) }}
}

// link is what is shown of where a link leads: addresses of the web, and files that the reader has.
func link(to string) string {
	if strings.Contains(to, "://") {
		return to
	}
	to, _, _ = strings.Cut(to, "#")
	// A page is in a folder of the tutorials.
	file := strings.TrimPrefix(path.Join("/NN", to), "/")
	if info, err := fs.Stat(tutorials.FS(), file); err == nil && !info.IsDir() && path.Base(file) != "README.md" {
		return path.Join("tutorials", file)
	}
	return ""
}

func itoa(n int) string { return strconv.Itoa(n) }
