package scenario

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/internal/verbs"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// step runs a step. A never that continues during later steps has no verdict yet when it returns.
func (r *run) step(ctx context.Context, s *Step, index int) result.Step {
	res := result.Step{Index: index + 1, Line: s.Line, Action: string(s.Action), Text: s.textWith(r.options.Patience), Began: time.Now()}
	r.result.Steps = append(r.result.Steps, res)
	r.announce(result.Update{Change: result.StepBegan, Step: res})
	err := r.pause(ctx, s)
	if err == nil {
		s, err = r.bind(s)
	}
	if err == nil {
		res.Text, res.Began = s.textWith(r.options.Patience), time.Now()
		own := r.mark(ctx)
		if s.As != "" {
			r.marks[s.As] = own
		}
		err = r.act(ctx, s, own, &res)
	}
	switch {
	case ctx.Err() != nil && err != nil:
		res.Verdict, res.Message = result.Interrupted, "interrupted"
	case lacking(err):
		res.Verdict, res.Message, r.lacks = result.Skipped, err.Error(), err.Error()
	case err != nil:
		res.Verdict, res.Message = result.Errored, err.Error()
	}
	return r.ended(index, res)
}

// lacking reports whether an error means that the ground does not support the request.
func lacking(err error) bool {
	var e *api.Error
	return errors.As(err, &e) && e.Code == "unsupported"
}

// ended records a step's result and reports it, unless the step continues.
func (r *run) ended(index int, res result.Step) result.Step {
	res.Took = time.Since(res.Began)
	r.result.Steps[index] = res
	if res.Verdict != result.Running {
		r.announce(result.Update{Change: result.StepEnded, Step: res})
	}
	return res
}

func (r *run) act(ctx context.Context, s *Step, own *expect.Mark, res *result.Step) error {
	switch s.Action {
	case ActionInject:
		return r.inject(ctx, s, own, res)
	case ActionHeal:
		return r.heal(ctx, s, own, res)
	case ActionWait, ActionExpect:
		return r.expect(ctx, s, own, res)
	case ActionNever:
		return r.never(ctx, s, own, res)
	case ActionRun:
		return r.command(ctx, s, res)
	case ActionSet:
		return r.set(ctx, s, res)
	}
	res.Verdict = result.Passed
	return nil
}

// pause waits until the step may begin.
func (r *run) pause(ctx context.Context, s *Step) error {
	wait := s.After.At(r.speed)
	if !s.At.IsZero() {
		wait = time.Until(r.began.Time.Add(s.At.At(r.speed)))
	}
	if wait <= 0 {
		return nil
	}
	return r.sleep(ctx, wait)
}

// sleep returns after that time, or early with the reason.
func (r *run) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-r.session.gone:
		return r.session.err
	}
}

// bind puts the values of set steps into the step.
func (r *run) bind(s *Step) (*Step, error) {
	reader := newReader(r.scenario.File)
	node := reader.Substitute(s.node, s.path, strict.Values{Known: written(r.values)})
	made := &Step{}
	reader.Decode(node, made, s.path)
	if made.Never != nil {
		made.Never.ForNever()
	}
	if err := reader.Err(); err != nil {
		return s, fmt.Errorf("with the values of set steps: %w", err)
	}
	if does := verbs.Effects(made.Run); does != "" && verbs.Effects(s.Run) == "" {
		return s, fmt.Errorf("with the values of set steps, it %s", does)
	}
	made.Action, made.Line, made.node, made.path, made.fault = s.Action, s.Line, s.node, s.path, s.fault
	return made, nil
}

// tryEvery is the pause between two runs of a command that failed its expectations.
const tryEvery = 500 * time.Millisecond

// command runs a command, repeatedly until its time is over if it has a time limit.
func (r *run) command(ctx context.Context, s *Step, res *result.Step) error {
	if r.options.Command == nil {
		return errors.New("commands cannot be run here")
	}
	deadline := time.Now()
	if s.Within != nil {
		deadline = deadline.Add(r.limit(s))
	}
	for {
		out, err := r.options.Command(ctx, Command{Argv: s.Run, Stdin: s.Stdin, Dir: r.scenario.Folder})
		if err != nil {
			return err
		}
		wrong := s.judge(out)
		res.Detail = strings.TrimRight(out.Stdout+out.Stderr, "\n")
		if wrong == "" {
			res.Verdict = result.Passed
			r.did(0)
			return nil
		}
		if time.Now().After(deadline) || s.Within == nil {
			res.Verdict, res.Message = result.Failed, wrong
			return nil
		}
		r.announce(result.Update{Change: result.Waiting, Step: *res, Text: wrong})
		if err := r.sleep(ctx, tryEvery); err != nil {
			return err
		}
	}
}

// judge describes how a command failed its expectations.
func (s *Step) judge(out Output) string {
	if out.Exit != s.Exit {
		text := fmt.Sprintf("exit status %d, not %d", out.Exit, s.Exit)
		if lines := strings.Split(strings.TrimSpace(out.Stderr), "\n"); lines[len(lines)-1] != "" {
			text += ": " + lines[len(lines)-1]
		}
		return text
	}
	for _, one := range []struct{ name, want, got string }{{"stdout", s.Stdout, out.Stdout}, {"stderr", s.Stderr, out.Stderr}} {
		re, err := regexp.Compile(one.want)
		if err != nil {
			return fmt.Sprintf("%s: %v", one.name, err)
		}
		if !re.MatchString(one.got) {
			return fmt.Sprintf("%s does not match /%s/: %s", one.name, one.want, firstLine(one.got))
		}
	}
	return ""
}

func firstLine(text string) string {
	line, more, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if line == "" {
		return "it is empty"
	}
	if more != "" {
		line += " …"
	}
	return line
}

// set names values of the world, as soon as they exist.
func (r *run) set(ctx context.Context, s *Step, res *result.Step) error {
	deadline := time.NewTimer(r.limit(s))
	defer deadline.Stop()
	names := slices.Sorted(maps.Keys(s.Set))
	changed, done := r.session.listen()
	defer done()
	for {
		found, missing := map[string]string{}, ""
		r.session.with(func(v *expect.View) {
			for _, name := range names {
				if value, ok := s.Set[name].value(v.World); ok {
					found[name] = value
				} else if p := s.Set[name]; missing == "" {
					missing = fmt.Sprintf("%s %s has no %s", p.Kind, p.Name, p.Field)
				}
			}
		})
		if missing == "" {
			var parts []string
			for _, name := range names {
				r.values[name] = found[name]
				parts = append(parts, name+" is "+found[name])
			}
			res.Verdict, res.Message = result.Passed, strings.Join(parts, ", ")
			return nil
		}
		select {
		case <-changed:
		case <-deadline.C:
			res.Verdict, res.Message = result.Failed, missing
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-r.session.gone:
			return r.session.err
		}
	}
}

// value returns the current value, if there is one.
func (p Pick) value(w *world.World) (string, bool) {
	f, ok := p.Kind.Field(p.Field)
	if !ok {
		return "", false
	}
	for _, row := range w.Rows(p.Kind) {
		if !row.Exists() || !slices.ContainsFunc(row.Names(), func(name string) bool { return expect.Match(p.Name, name) }) {
			continue
		}
		var text string
		switch {
		case f.Map:
			text = row.Map(f)[p.Key]
		case f.List:
			list := row.List(f)
			i, err := strconv.Atoi(p.Key)
			if p.Key == "" {
				i, err = 0, nil
			}
			if err == nil && i >= 0 && i < len(list) {
				text = list[i]
			}
		default:
			text = row.Text(f)
		}
		if text != "" {
			return text, true
		}
	}
	return "", false
}

// reportEvery is the minimum time between two reports of what a step waits for.
const reportEvery = 200 * time.Millisecond

// expect waits until the statement is true, and has stayed true for the required time.
func (r *run) expect(ctx context.Context, s *Step, own *expect.Mark, res *result.Step) error {
	w := r.session.watch(s.Statement(), r.marksFor(s, own))
	defer r.session.unwatch(w)
	stay := s.For.At(r.speed)
	deadline := time.NewTimer(r.limit(s) + stay)
	defer deadline.Stop()
	stayed := time.NewTimer(time.Hour)
	defer stayed.Stop()
	var text string
	var last time.Time
	due := time.NewTimer(time.Hour) // ends the pause after a report
	defer due.Stop()
	for {
		now := r.session.state(w)
		if now.Met && time.Since(now.Since) >= stay {
			r.met(w, now, res)
			return nil
		}
		if now.Met {
			stayed.Reset(stay - time.Since(now.Since))
		} else if was := strings.Join(r.session.was(w), "; "); was != text {
			if pause := reportEvery - time.Since(last); pause > 0 {
				due.Reset(pause) // what is true then is reported, so that a text never stays that is past
			} else {
				text, last = was, time.Now()
				r.announce(result.Update{Change: result.Waiting, Step: *res, Text: text})
			}
		}
		select {
		case <-w.changed:
		case <-due.C:
		case <-stayed.C:
		case <-deadline.C:
			if now := r.session.state(w); now.Met && time.Since(now.Since) >= stay {
				r.met(w, now, res) // with the last changes
				return nil
			}
			r.unmet(w, s, res)
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-r.session.gone:
			return r.session.err
		}
	}
}

// met records that and when the statement became true.
func (r *run) met(w *watcher, now sighting, res *result.Step) {
	r.session.with(func(v *expect.View) {
		since := r.since(v)
		at := now.Since
		if res.Event = now.Event; res.Event == 0 {
			res.Event = about(w.tracker.RelatedEvents(v), since, at)
		}
		if e, ok := v.World.Event(res.Event); ok {
			at = e.Time
		}
		if !at.Before(since) {
			res.Latency = at.Sub(since)
		}
		res.Message = strings.Join(w.tracker.Describe(v), "; ")
	})
	res.Verdict = result.Passed
}

// nearby is how far apart a row and the event about the same change may arrive.
const nearby = 250 * time.Millisecond

// about returns the event that explains a row: the last one that was not later.
func about(events []event.Event, since, at time.Time) (seq uint64) {
	for _, e := range events {
		if !e.Time.Before(since) && e.Time.Before(at.Add(nearby)) {
			seq = e.Seq
		}
	}
	return seq
}

// unmet describes what was expected and what there was.
func (r *run) unmet(w *watcher, s *Step, res *result.Step) {
	was := r.session.was(w)
	now := r.session.state(w)
	res.Verdict, res.Message = result.Failed, strings.Join(was, "; ")
	switch {
	case now.Met:
		res.Message = fmt.Sprintf("it became true, but did not stay true for %s", s.For)
	case now.Ever && s.For.IsZero():
		res.Message += " (it was true for a moment)"
	}
	r.session.with(func(v *expect.View) { res.Detail = detail(s.Statement().String(), was, w.tracker.RelatedEvents(v)) })
}

// detail describes a failed expectation in full.
func detail(expected string, was []string, related []event.Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "expected: %s\n", expected)
	for i, line := range was {
		before := "was:      "
		if i > 0 {
			before = "          "
		}
		fmt.Fprintf(&b, "%s%s\n", before, line)
	}
	if len(related) > 0 {
		b.WriteString("the last events about it:\n")
		for _, e := range related {
			fmt.Fprintf(&b, "  %s #%d %s %s: %s\n", e.Time.Format("15:04:05.000"), e.Seq, e.Kind, objectName(e.Object), e.Message)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func objectName(o event.Object) string {
	if o.VCenter != "" && o.VCenter != o.Name {
		return o.VCenter + "/" + o.Name
	}
	return o.Name
}

// guard is a never that still runs during later steps.
type guard struct {
	step    *Step
	watcher *watcher
	index   int
	result  result.Step
	// cut means that the run ended before its time was over.
	cut bool
	// missed is the count of gaps at its beginning.
	missed uint64
}

// never checks that something does not happen: for a time, or during later steps.
func (r *run) never(ctx context.Context, s *Step, own *expect.Mark, res *result.Step) error {
	before := r.session.missed()
	w := r.session.watch(s.Never, r.marksFor(s, own))
	if s.Until != "" {
		r.nevers = append(r.nevers, &guard{step: s, watcher: w, index: res.Index - 1, result: *res, missed: before})
		return nil
	}
	defer r.session.unwatch(w)
	over := time.NewTimer(s.For.At(r.speed))
	defer over.Stop()
	for {
		if now := r.session.state(w); now.Ever {
			r.happened(w, s, now, res)
			return nil
		}
		select {
		case <-w.changed:
		case <-over.C:
			r.catchUp(ctx) // with the last changes
			if now := r.session.state(w); now.Ever {
				r.happened(w, s, now, res)
				return nil
			}
			r.passed(before, res)
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-r.session.gone:
			return r.session.err
		}
	}
}

// happened describes what must not have happened.
func (r *run) happened(w *watcher, s *Step, now sighting, res *result.Step) {
	res.Verdict, res.Message, res.Event = result.Failed, "it was true: "+strings.Join(now.Then, "; "), now.FirstEvent
	r.session.with(func(v *expect.View) {
		if since := r.since(v); now.First.After(since) {
			res.Latency = now.First.Sub(since)
		}
		res.Detail = detail("never "+s.Never.String(), now.Then, w.tracker.RelatedEvents(v))
	})
}

// passed returns that something has not happened, if nothing was missed.
func (r *run) passed(missedBefore uint64, res *result.Step) {
	if res.Verdict = result.Passed; r.session.missed() != missedBefore {
		res.Verdict, res.Message = result.Errored, "unknown: the sandbox sent changes faster than they were read, and some were missed"
	}
}

// settleNevers sets the verdict of those that were violated.
func (r *run) settleNevers() {
	r.nevers = slices.DeleteFunc(r.nevers, func(g *guard) bool {
		now := r.session.state(g.watcher)
		if !now.Ever {
			return false
		}
		r.happened(g.watcher, g.step, now, &g.result)
		r.release(g)
		return true
	})
}

// endNevers sets the verdict of those that are over, and of those that were violated.
func (r *run) endNevers(over func(*guard) bool) {
	r.settleNevers()
	r.nevers = slices.DeleteFunc(r.nevers, func(g *guard) bool {
		if !over(g) {
			return false
		}
		if r.passed(g.missed, &g.result); g.cut {
			g.result.Verdict, g.result.Message = result.Interrupted, "interrupted"
		}
		r.release(g)
		return true
	})
}

func (r *run) release(g *guard) {
	r.session.unwatch(g.watcher)
	r.ended(g.index, g.result)
}
