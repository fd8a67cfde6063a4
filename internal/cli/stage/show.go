package stage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
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

// Show tells one run on standard error, and keeps it in a directory when one is wanted. Make it with [NewShow], end it
// with [Show.Close].
type Show struct {
	// Dir is nil when no artifacts are wanted.
	Dir *artifacts.Dir

	live      *live.Live
	log       *live.Live // the same as live tells, for the artifacts
	sandboxes int        // so far
}

// NewShow returns one that has told nothing.
func NewShow(streams *iostreams.Streams) *Show {
	return &Show{live: live.New(streams.Err, streams.ErrTTY())}
}

// Close ends what is told. Close again is harmless.
func (s *Show) Close() { s.live.Close() }

// Say tells a line.
func (s *Show) Say(format string, args ...any) {
	s.live.Say(format, args...)
	if s.log != nil {
		s.log.Say(format, args...)
	}
}

// Busy tells what is being done; "" nothing any more.
func (s *Show) Busy(text string) {
	s.live.Busy(text)
	if s.log != nil {
		s.log.Busy(text)
	}
}

// Update tells of a scenario.
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
	if errors.Is(err, artifacts.ErrNotOurs) {
		return report.UsageError("--artifacts DIR that is new, or empty", "%v", err)
	}
	if err != nil {
		return unwritable(err)
	}
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
	s.live.Say("\nreport: %s/report.html", s.Dir.Path)
}

// Began counts a sandbox, and keeps its passwords out of the artifacts.
func (s *Show) Began(ctx context.Context, c *api.Client) {
	s.sandboxes++
	if s.Dir == nil {
		return
	}
	if err := collect.Hide(ctx, s.Dir, c); err != nil && ctx.Err() == nil {
		s.Say("note: passwords are not known: %v", err)
	}
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
	if err := collect.Sandbox(collecting, s.Dir, s.sandboxes, c, after); err != nil {
		s.Say("note: some artifacts are missing: %v", err)
	}
}

// Lost fetches what is known of a sandbox that did not come up.
func (s *Show) Lost(logs string, log *event.Log) {
	s.sandboxes++
	if s.Dir == nil {
		return
	}
	events, lost := log.Read(0, 0)
	errs := []error{collect.Logs(s.Dir, s.sandboxes, logs)}
	for _, e := range events {
		errs = append(errs, s.Dir.Event(s.sandboxes, api.EventLine{Event: e, Lost: lost}))
		lost = 0
	}
	if err := errors.Join(errs...); err != nil {
		s.Say("note: some artifacts are missing: %v", err)
	}
}

// unwritable is the error for artifacts that cannot be kept.
func unwritable(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &report.Error{Code: "artifacts-unwritable", Message: "artifacts", Err: err, Try: "--artifacts DIR in a folder that is there and that you may write"}
}
