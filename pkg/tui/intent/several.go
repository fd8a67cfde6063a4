package intent

import (
	"context"
	"fmt"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
)

// Named is an action that is done to one thing, which the command line does to several at once, too.
type Named interface {
	Action
	command() command
}

// Several does the same to several things, one after the other, as the command line does: one that cannot be done does
// not keep it from the others. Make it with [Each].
type Several struct{ Actions []Named }

// Each does the same to each name: one alone is that action itself. There has to be a name.
func Each(names []string, do func(name string) Named) Action {
	if len(names) == 1 {
		return do(names[0])
	}
	s := Several{Actions: make([]Named, len(names))}
	for i, name := range names {
		s.Actions[i] = do(name)
	}
	return s
}

func (Several) intent() {}

// Args implements [Action].
func (s Several) Args() []string {
	all := s.Actions[0].command()
	all.names = s.names()
	return all.args()
}

func (s Several) names() (names []string) {
	for _, a := range s.Actions {
		names = append(names, a.command().names...)
	}
	return names
}

// Danger implements [Action]: more than one thing is more than a slip may cost.
func (s Several) Danger() string {
	verb := strings.Join(s.Actions[0].command().words, " ")
	question := fmt.Sprintf("%s, %d at once: %s?", verb, len(s.Actions), shorten.List(s.names(), 3))
	if s.Actions[0].Danger() != "" {
		question += " It may cost data."
	}
	return question
}

// Do implements [Action].
func (s Several) Do(ctx context.Context, on Sandbox) (string, error) {
	var done []string
	var errs []error
	var open gather
	for _, a := range s.Actions {
		said, err := a.Do(ctx, on)
		if ctx.Err() != nil {
			return strings.Join(done, "; "), ctx.Err()
		}
		if open.take(err) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		done = append(done, said)
	}
	if len(errs) == 0 {
		return strings.Join(done, "; "), open.ask(nil)
	}
	err := errs[0]
	for _, e := range errs[1:] {
		err = fmt.Errorf("%w; %w", err, e)
	}
	if len(done) > 0 {
		err = fmt.Errorf("%d of %d done; %w", len(done), len(s.Actions), err)
	}
	return strings.Join(done, "; "), open.ask(err)
}
