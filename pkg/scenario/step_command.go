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

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// tryEvery is the pause between two runs of a command that failed its expectations.
const tryEvery = 500 * time.Millisecond

// command runs a command, repeatedly until its time is over if it has a time limit.
func (r *run) command(ctx context.Context, s *Step, res *result.Step) error {
	if r.options.Command == nil {
		return errors.New("commands cannot be run here")
	}
	deadline := time.Now()
	if s.Within != nil {
		deadline = deadline.Add(time.Duration(float64(s.Within.At(r.speed)) * r.options.Patience))
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
	deadline := time.NewTimer(time.Duration(float64(s.within().At(r.speed)) * r.options.Patience))
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
