package scenario

import (
	"slices"
	"strconv"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
)

// block is a step on the screen: its text and its message, each wrapped into lines.
type block struct {
	step    int
	text    []string
	message []string
}

func (b *block) height() int { return len(b.text) + len(b.message) }

// columns are the widths of the columns beside the text of a step.
type columns struct{ number, state, text, took, event int }

// stateWidth is the width of "○ skipped".
const stateWidth = 9

// fit returns the columns that fit.
func fit(width, steps int) (c columns) {
	c.number, c.state, c.took = len(strconv.Itoa(steps)), stateWidth, 7
	if width >= 56 {
		c.event = 7
	}
	if width < 40 {
		c.took = 0
	}
	if width < 28 {
		c.state = 1
	}
	c.text = max(1, width-c.number-c.state-c.took-c.event-2)
	return c
}

// blocks returns the steps of a run that match a filter.
func blocks(r *api.Run, c columns, filter string) []block {
	if r == nil {
		return nil
	}
	var all []block
	for i := range r.Steps {
		st := &r.Steps[i]
		if !text.Found(filter, st.Text, st.State, st.Message) {
			continue
		}
		b := block{step: i, text: text.Words(text.Clean(st.Text), c.text)}
		if st.Message != "" {
			b.message = text.Words(text.Clean(said(st)), max(1, c.text-2))
			if most := 2; !bad(st.State) && len(b.message) > most { // the reason of a failure is shown in full
				b.message[most-1] = text.Cut(b.message[most-1]+"…", max(1, c.text-2))
				b.message = b.message[:most]
			}
		}
		all = append(all, b)
	}
	return all
}

// said returns the message of a step.
func said(st *api.RunStep) string {
	if st.State == running {
		return "waits: " + st.Message
	}
	return st.Message
}

// took returns the duration of a step so far.
func took(st *api.RunStep, now time.Time) string {
	switch {
	case st.State == running && st.Began != nil:
		return text.Took(now.Sub(*st.Began).Truncate(time.Second))
	case over(st.State) && st.State != skipped:
		return text.Took(time.Duration(st.Took))
	}
	return ""
}

// ended counts the steps that ran, with any result; skipped ones do not count.
func ended(r *api.Run) (n int) {
	for i := range r.Steps {
		if st := r.Steps[i].State; over(st) && st != skipped {
			n++
		}
	}
	return n
}

// current returns the step of interest: the running one, or the last of several, as some run all the time; of a finished run the
// failed one, or else the last.
func current(r *api.Run) int {
	last, at := 0, -1
	for i := range r.Steps {
		switch st := r.Steps[i].State; {
		case st == running:
			at = i
		case over(st):
			last = i
		}
	}
	if over(r.State) {
		if i := slices.IndexFunc(r.Steps, func(s api.RunStep) bool { return bad(s.State) }); i >= 0 {
			return i
		}
		return last
	}
	if at < 0 {
		return last
	}
	return at
}
