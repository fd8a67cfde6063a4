package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret/mask"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/artifacts"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/collect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report/live"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// collectTime is how long it may take to fetch what a sandbox can tell: things may have been left broken. hurriedTime is
// how long it may take once the run was interrupted.
const (
	collectTime = time.Minute
	hurriedTime = 3 * time.Second
)

// Show prints one run to standard error, and keeps it in a directory if one is given. Create it with [NewShow], end it with
// [Show.Close].
type Show struct {
	// Dir is nil when no artifacts are wanted.
	Dir *artifacts.Dir

	mask      *mask.Mask
	live      *live.Live
	log       *live.Live // the same output, for the artifacts
	sandboxes int        // so far
	settled   bool
}

// NewShow returns a Show without output.
func NewShow(d *command.Deps) *Show {
	s, streams := &Show{mask: &mask.Mask{}}, d.Streams
	s.mask.Add(secret.Variables(d.Getenv)...)
	if streams.ErrTTY() {
		s.live = live.New(streams.Err, true)
	} else { // the log of some CI, which others read
		s.live = live.New(maskedWriter{streams.Err, s.mask}, false)
	}
	return s
}

// maskedWriter writes lines without secrets. A write that ends within a line must not end within a secret.
type maskedWriter struct {
	w    io.Writer
	mask *mask.Mask
}

// Write implements [io.Writer].
func (m maskedWriter) Write(b []byte) (int, error) {
	if _, err := m.w.Write(m.mask.Bytes(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Masked returns a copy of results without the secrets of the sandboxes that there were. What is written of it needs no other mask.
func Masked[T any](s *Show, results T) T { return mask.Deep(s.mask, results) }

// Close ends the output. It is idempotent.
func (s *Show) Close() { s.live.Close() }

// Println prints a line.
func (s *Show) Println(format string, args ...any) {
	s.live.Println(format, args...)
	if s.log != nil {
		s.log.Println(format, args...)
	}
}

// Busy shows what is being done; "" clears it.
func (s *Show) Busy(text string) {
	s.live.Busy(text)
	if s.log != nil {
		s.log.Busy(text)
	}
}

// Update prints the progress of a scenario.
func (s *Show) Update(u result.Update) {
	s.live.Update(u)
	if s.log != nil {
		s.log.Update(u)
	}
}

// Keep makes the directory of artifacts, before anything that takes time.
func (s *Show) Keep(path string, suite *result.Suite) error {
	d, err := artifacts.Create(path, suite.Began, map[string]string{"vsphere-sandbox": build.Version()}, map[string]string{
		"suite": suite.Name, "ccm": suite.CCM, "seed": fmt.Sprint(suite.Seed), "speed": fmt.Sprint(suite.Speed),
	})
	if errors.Is(err, artifacts.ErrNotOwned) {
		return report.UsageError("--artifacts DIR that is new, or empty", "%v", err)
	}
	if err != nil {
		return unwritable(err)
	}
	d.Mask(s.mask)
	s.Dir, s.log = d, live.New(d.Log(), false)
	return nil
}

// Finish writes the artifacts. Their error counts when there is no other.
func (s *Show) Finish(ctx context.Context, suite *result.Suite, err *error) {
	if s.Dir == nil {
		return
	}
	s.log.Close()
	if live.Summary(s.Dir.Log(), suite) == nil && *err != nil {
		fmt.Fprintf(s.Dir.Log(), "error: %v\n", *err)
	}
	if ferr := s.Dir.Finish(suite, ctx.Err() != nil); ferr != nil && *err == nil {
		*err = unwritable(ferr)
		return
	}
	s.live.Println("\nreport: %s/report.html", s.Dir.Path)
}

// Began counts a sandbox, and keeps its secrets out of the artifacts and results.
func (s *Show) Began(ctx context.Context, c *api.Client) {
	s.sandboxes++
	if err := s.learn(ctx, c); err != nil && ctx.Err() == nil {
		s.Println("note: the secrets of the sandbox are not known, and are masked by their shape alone: %v", err)
	}
}

// Settle keeps secrets that come from now on readable, unless they have the shape of one: programs that are run on the sandbox
// write secrets that are ordinary words.
func (s *Show) Settle() {
	s.settled = true
	s.mask.Settle()
}

func (s *Show) learn(ctx context.Context, c *api.Client) error {
	if s.settled {
		return nil
	}
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	return c.Mask(ctx, s.mask, status.Dir)
}

// Collect fetches what the sandbox that began last can tell into the artifacts; after an interruption, too. Of its events
// it fetches those after a Seq.
func (s *Show) Collect(ctx context.Context, c *api.Client, after uint64) {
	if s.Dir == nil {
		return
	}
	collecting, cancel := context.WithTimeout(context.WithoutCancel(ctx), collectTime)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(hurriedTime, cancel) })()
	s.Busy("artifacts")
	defer s.Busy("")
	if err := s.learn(collecting, c); err != nil {
		s.Println("note: no artifacts of a sandbox whose secrets are not known: %v", err)
		return
	}
	if err := collect.Sandbox(collecting, s.Dir, s.sandboxes, c, after); err != nil {
		s.Println("note: some artifacts are missing: %v", err)
	}
}

// Lost fetches what is known of a sandbox that did not come up.
func (s *Show) Lost(logs string, log *event.Log) {
	s.sandboxes++
	if s.Dir == nil {
		return
	}
	if err := s.mask.Follow(filepath.Dir(logs)); err != nil {
		s.Println("note: no artifacts of a sandbox whose secrets are not known: %v", err)
		return
	}
	events, lost := log.Read(0, 0)
	errs := []error{collect.Logs(s.Dir, s.sandboxes, logs)}
	for _, e := range events {
		errs = append(errs, s.Dir.Event(s.sandboxes, api.EventLine{Event: e, Lost: lost}))
		lost = 0
	}
	if err := errors.Join(errs...); err != nil {
		s.Println("note: some artifacts are missing: %v", err)
	}
}

// unwritable is the error for artifacts that cannot be kept.
func unwritable(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &report.Error{Code: "artifacts-unwritable", Message: "artifacts", Err: err, Try: "--artifacts DIR in an existing folder that you can write to"}
}

// mostOutput bounds what is kept of what a command of a scenario writes, in bytes.
const mostOutput = 1 << 20

// Runner returns what runs commands of scenarios on a sandbox: kubectl, govc, and this program's own.
func Runner(self, name string) func(context.Context, scenario.Command) (scenario.Output, error) {
	return func(ctx context.Context, c scenario.Command) (scenario.Output, error) {
		args, err := arguments(name, c.Argv)
		if err != nil {
			return scenario.Output{}, err
		}
		cmd := exec.CommandContext(ctx, self, args...)
		cmd.Dir = c.Dir
		cmd.Env = append(os.Environ(), command.NameEnv+"="+name)
		if root, err := instance.Root(); err == nil { // which may be relative to this process's directory
			cmd.Env = append(cmd.Env, instance.RootEnv+"="+root)
		}
		cmd.Stdin = strings.NewReader(c.Stdin)
		var out, stderr limited
		cmd.Stdout, cmd.Stderr = &out, &stderr
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.WaitDelay = 5 * time.Second
		err = cmd.Run()
		result := scenario.Output{Stdout: out.String(), Stderr: stderr.String()}
		var exit *exec.ExitError
		switch {
		case ctx.Err() != nil:
			return result, ctx.Err()
		case errors.As(err, &exit):
			result.Exit = exit.ExitCode()
			return result, nil
		}
		return result, err
	}
}

// arguments are those of this program for a command of a scenario.
func arguments(name string, argv []string) ([]string, error) {
	if len(argv) == 0 {
		return nil, errors.New("there is no command")
	}
	switch argv[0] {
	case "kubectl", "govc":
		return append([]string{"--name", name}, argv...), nil
	case command.Program:
		return append([]string{"--name", name}, argv[1:]...), nil
	}
	return nil, fmt.Errorf("command %q: scenarios run kubectl, govc and %s", argv[0], command.Program)
}

// limited keeps the first of what is written, and drops the rest.
type limited struct{ bytes.Buffer }

func (l *limited) Write(b []byte) (int, error) {
	if room := mostOutput - l.Len(); room > 0 {
		l.Buffer.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}
