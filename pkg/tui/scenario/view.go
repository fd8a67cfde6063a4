package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
)

// low is the height below which only the name and the steps fit.
const low = 10

// View implements [panel.Panel].
func (s *Screen) View() string {
	if s.width <= 0 || s.height <= 0 {
		return ""
	}
	if s.run == nil {
		return text.Block(s.none(), s.width, s.height)
	}
	lines := append(s.head(), s.steps()...)
	foot := s.foot()
	for len(lines)+len(foot) < s.height {
		lines = append(lines, "")
	}
	return text.Block(append(lines[:min(len(lines), s.height-len(foot))], foot...), s.width, s.height)
}

// room returns the number of lines for steps.
func (s *Screen) room() int {
	if s.run == nil {
		return 1
	}
	return max(1, s.height-len(s.head())-len(s.foot()))
}

// head shows the name and the progress.
func (s *Screen) head() []string {
	r := s.run
	name := s.theme.Title.Render(text.Clean(cmp.Or(r.Name, r.File, "scenario")))
	progress := fmt.Sprintf("%d/%d", ended(r), len(r.Steps))
	line := name + "  " + style(s.theme, r.State).Render(mark(r.State)) + "  " + s.theme.Text.Render(progress) + " " + s.bar(20) +
		"  " + s.theme.Dim.Render(text.Took(s.elapsed()))
	if s.height < low {
		return []string{line}
	}
	facts := []string{}
	if r.Of > 1 {
		facts = append(facts, fmt.Sprintf("scenario %d of %d", r.Number, r.Of))
	}
	if r.File != "" {
		facts = append(facts, text.Clean(r.File))
	}
	switch {
	case over(r.State):
	case s.follow:
		facts = append(facts, "follows what runs")
	default:
		facts = append(facts, "t follows what runs")
	}
	if s.filter != "" {
		facts = append(facts, fmt.Sprintf("%d of %d steps", len(s.blocks), len(r.Steps)))
	}
	lines := []string{line, s.theme.Dim.Render(strings.Join(facts, " · "))}
	if r.Description != "" {
		const most = 2
		words := text.Words(text.Clean(r.Description), s.width)
		for _, l := range words[:min(most, len(words))] {
			lines = append(lines, s.theme.Text.Render(l))
		}
	}
	return append(lines, "")
}

// bar draws the progress, in so many cells.
func (s *Screen) bar(cells int) string {
	n := 0
	if steps := len(s.run.Steps); steps > 0 {
		n = ended(s.run) * cells / steps
	}
	return style(s.theme, s.run.State).Render(strings.Repeat("━", n)) + s.theme.Border.Render(strings.Repeat("╌", cells-n))
}

// foot shows the verdict of a finished run.
func (s *Screen) foot() []string {
	r := s.run
	if !over(r.State) {
		return nil
	}
	words := mark(r.State) + " in " + text.Took(s.elapsed())
	switch {
	case r.Message != "":
		words += ": " + text.Clean(r.Message)
	case r.State == passed:
		words += ": all of " + count(len(r.Steps))
	}
	most := max(1, min(4, s.height/4))
	lines := text.Words(words, s.width)
	if len(lines) > most {
		lines[most-1] = text.Cut(lines[most-1]+"…", s.width)
		lines = lines[:most]
	}
	for i := range lines {
		lines[i] = style(s.theme, r.State).Render(lines[i])
	}
	if s.height >= low {
		lines = append([]string{""}, lines...)
	}
	return lines
}

func count(steps int) string {
	if steps == 1 {
		return "1 step"
	}
	return fmt.Sprintf("%d steps", steps)
}

// steps returns the visible steps.
func (s *Screen) steps() []string {
	room := s.room()
	if len(s.blocks) == 0 {
		if s.filter != "" {
			return []string{s.theme.Dim.Render("no step matches the filter")}
		}
		return []string{s.theme.Dim.Render("It has not said yet what its steps are.")}
	}
	var lines []string
	at := 0
	for i := range s.blocks {
		b := &s.blocks[i]
		if at += b.height(); at <= s.top {
			continue
		}
		all := s.block(b, i == s.cursor)
		lines = append(lines, all[max(0, s.top-(at-b.height())):]...)
		if len(lines) >= room {
			return lines[:room]
		}
	}
	return lines
}

// block returns the lines of a step.
func (s *Screen) block(b *block, selected bool) []string {
	st, c := &s.run.Steps[b.step], s.columns
	margin := strings.Repeat(" ", c.number+1+c.state+1)
	words := s.theme.Text
	if st.State == pending || st.State == skipped {
		words = s.theme.Dim
	}
	lines := make([]string, 0, b.height())
	for i, l := range b.text {
		l = text.Fit(l, c.text)
		switch {
		case i > 0 && selected:
			lines = append(lines, s.theme.Selected.Render(text.Fit(margin+l, s.width)))
		case i > 0:
			lines = append(lines, margin+words.Render(l))
		case selected:
			lines = append(lines, s.theme.Selected.Render(text.Fit(s.row(st, b.step, l), s.width)))
		default:
			number, state, took, event := s.cells(st, b.step)
			lines = append(lines, s.theme.Dim.Render(number)+" "+style(s.theme, st.State).Render(state)+" "+words.Render(l)+
				s.theme.Dim.Render(took)+strings.Repeat(" ", c.event-text.Width(event))+s.theme.Link.Render(event))
		}
	}
	for _, l := range b.message {
		m := s.theme.Dim
		if bad(st.State) || st.State == running {
			m = style(s.theme, st.State)
		}
		lines = append(lines, margin+"  "+m.Render(l))
	}
	return lines
}

// cells returns the columns beside the text of a step.
func (s *Screen) cells(st *api.RunStep, n int) (number, state, lasted, event string) {
	c := s.columns
	number, state = text.Right(fmt.Sprint(n+1), c.number), text.Fit(mark(st.State), c.state)
	if c.state == 1 {
		state, _, _ = strings.Cut(mark(st.State), " ")
	}
	lasted = text.Right(took(st, s.state.Now()), c.took)
	if st.Event != 0 {
		event = text.Cut(fmt.Sprintf("#%d", st.Event), c.event)
	}
	return number, state, lasted, event
}

func (s *Screen) row(st *api.RunStep, n int, words string) string {
	number, state, took, event := s.cells(st, n)
	return number + " " + state + " " + words + took + text.Right(event, s.columns.event)
}

// none returns the text for an empty screen.
func (s *Screen) none() []string {
	t, d, k := s.theme.Text, s.theme.Dim, s.theme.Key
	if s.state == nil {
		return nil
	}
	about := s.state.About()
	if about.Kind == api.RecordingKind {
		return []string{t.Render("No scenario has run yet in this recording.")}
	}
	name := intent.Quote(cmp.Or(about.Sandbox, "default"))
	lines := []string{t.Render("No scenario has run on this sandbox."), "", t.Render("To run one on it, in another terminal:"), ""}
	for _, l := range []string{"vsphere-sandbox scenario list", "vsphere-sandbox scenario run power-off --on " + name} {
		lines = append(lines, "  "+k.Render("$ "+text.Clean(l)))
	}
	lines = append(lines, "")
	for _, l := range text.Words("It needs a sandbox with its topology. Without --on it boots another sandbox.", s.width) {
		lines = append(lines, d.Render(l))
	}
	return lines
}

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
