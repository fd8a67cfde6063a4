package live

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/result"
)

// beat is the interval of output without changes.
const beat = 4 * time.Second

// textWidth is the column of durations.
const textWidth = 64

// Live prints the progress of one run. Make it with [New] and end it with [Live.Close]. Its methods may be called from any
// goroutine.
type Live struct {
	w   io.Writer
	tty bool

	mu     sync.Mutex
	text   string // what is being done, and waited for
	since  time.Time
	spoke  time.Time // when something was written last
	shown  bool      // a changing line stands
	unrun  []string  // lines of steps that were skipped, kept until the scenario ends
	closed bool
	done   chan struct{}
	ended  sync.WaitGroup
}

// New returns a Live that has printed nothing.
func New(w io.Writer, tty bool) *Live {
	l := &Live{w: w, tty: tty, done: make(chan struct{}), spoke: time.Now()}
	l.ended.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				l.beat()
			case <-l.done:
				return
			}
		}
	})
	return l
}

// Close erases the changing line and ends the output; later calls print nothing. Close may be called again.
func (l *Live) Close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		l.clear()
		close(l.done)
	}
	l.mu.Unlock()
	l.ended.Wait()
}

// Println prints a line.
func (l *Live) Println(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.print(printable.Lines(fmt.Sprintf(format, args...)) + "\n")
}

// Busy sets the activity outside of any step; "" means none.
func (l *Live) Busy(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy(text)
}

// Update prints a change of the run.
func (l *Live) Update(u result.Update) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch u.Change {
	case result.ScenarioBegan:
		l.busy("")
		l.print(fmt.Sprintf("\n[%d/%d] %s\n", u.Number, u.Of, title(&u.Scenario)))
	case result.StepBegan:
		l.busy(u.Step.Action + " " + report.Line(u.Step.Text))
	case result.Waiting:
		since := l.since
		l.busy(u.Step.Action + " " + report.Line(u.Step.Text) + ": " + report.Line(u.Text))
		l.since = since // it is the same step
	case result.StepEnded:
		l.busy("")
		if line := step(u.Step); u.Step.Verdict == result.Skipped {
			l.unrun = append(l.unrun, line)
		} else {
			l.print(line)
		}
		if u.Steps > 0 && u.Step.Index == u.Steps {
			l.busy("puts back what was broken, and waits until all is as it was")
		}
	case result.ScenarioEnded:
		l.busy("")
		l.print(skipped(l.unrun) + ending(&u.Scenario))
		l.unrun = nil
	}
}

// busy and the functions below require the lock.
func (l *Live) busy(text string) {
	if text != "" && l.text == "" {
		l.since = time.Now()
	}
	l.text = text
	if l.tty && !l.closed {
		l.line()
	}
}

func (l *Live) print(text string) {
	if l.closed {
		return
	}
	l.clear()
	fmt.Fprint(l.w, text) // who does not listen any more misses nothing
	l.spoke = time.Now()
	if l.tty {
		l.line()
	}
}

func (l *Live) beat() {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed, l.text == "":
	case l.tty:
		l.line()
	case time.Since(l.spoke) >= beat:
		fmt.Fprintf(l.w, "  … %s (%.0fs)\n", cut(l.text, 160), time.Since(l.since).Seconds())
		l.spoke = time.Now()
	}
}

// line rewrites the changing line.
func (l *Live) line() {
	l.clear()
	if l.text == "" {
		return
	}
	const most = 78
	after := ""
	if took := time.Since(l.since); took >= time.Second {
		after = fmt.Sprintf(" (%.0fs)", took.Seconds())
	}
	fmt.Fprint(l.w, cut("  … "+l.text, most-utf8.RuneCountInString(after))+after)
	l.shown = true
}

// cut shortens a text to so many characters.
func cut(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

func (l *Live) clear() {
	if l.shown {
		fmt.Fprint(l.w, "\r\x1b[K")
		l.shown = false
	}
}

func title(s *result.Scenario) string {
	name := s.Name
	if s.Theme != "" {
		name = s.Theme + "/" + name
	}
	if s.Description != "" {
		name += ": " + strings.TrimSuffix(report.Line(s.Description), ".")
	}
	return name
}

// step formats a finished step: "  ✓ expect node a is ready                4.75 s  +4.73 s".
func step(s result.Step) string {
	text := s.Action + " " + report.Line(s.Text)
	if s.Verdict == result.Skipped {
		return fmt.Sprintf("  %s %s (skipped)\n", report.Glyph(s.Verdict), text)
	}
	pad := strings.Repeat(" ", max(1, textWidth-utf8.RuneCountInString(text)))
	line := fmt.Sprintf("  %s %s%s%8s", report.Glyph(s.Verdict), text, pad, report.Took(s.Took))
	if s.Latency > 0 {
		line += "  +" + report.Took(s.Latency)
	}
	line += "\n"
	if s.Verdict == result.Passed {
		return line
	}
	line += "      " + report.Line(s.Message) + "\n"
	if s.Detail != "" {
		line += indent(report.Lines(s.Detail))
	}
	return line
}

// skipped describes the skipped steps; of many only their number.
func skipped(lines []string) string {
	const most = 3
	if len(lines) <= most {
		return strings.Join(lines, "")
	}
	return fmt.Sprintf("  %s %d steps were skipped\n", report.Glyph(result.Skipped), len(lines))
}

func ending(s *result.Scenario) string {
	line := "  " + string(s.Shown())
	if s.Took > 0 {
		line += " in " + report.Took(s.Took)
	}
	if s.Verdict != result.Passed && s.Message != "" {
		line += ": " + report.Line(s.Message)
	}
	line += "\n"
	if s.Shown() == result.Failed && len(s.World.Nodes) > 0 {
		line += indent(report.Nodes(s.World.Nodes))
	}
	return line
}

func indent(text string) string {
	return "      " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n      ") + "\n"
}

// Summary writes a table of the scenarios and a line with the totals.
func Summary(w io.Writer, s *result.Suite) error {
	rows := [][]string{{"VERDICT", "SCENARIO", "THEME", "STEPS", "TOOK", "WHY"}}
	if s.Baseline != "" {
		rows[0] = slices.Insert(rows[0], 1, "TREND")
	}
	for i := range s.Scenarios {
		sc := &s.Scenarios[i]
		passed := 0
		for _, st := range sc.Steps {
			if st.Verdict == result.Passed {
				passed++
			}
		}
		why := ""
		if sc.Verdict != result.Passed {
			why = sc.Message
			if excuse := report.Excuse(sc); excuse != "" {
				why = excuse + "; found: " + why
			}
		}
		row := []string{report.Word(sc), sc.Name, sc.Theme, fmt.Sprintf("%d/%d", passed, len(sc.Steps)), report.Took(sc.Took), why}
		if s.Baseline != "" {
			row = slices.Insert(row, 1, string(sc.Judgment.Trend))
		}
		rows = append(rows, row)
	}
	text := ""
	if len(s.Scenarios) > 0 {
		text = report.Table(rows) + "\n"
	}
	text += fmt.Sprintf("%s in %s; seed %d, speed %s", report.Sum(s), report.Took(s.Took), s.Seed, strconv.FormatFloat(s.Speed, 'f', -1, 64))
	if s.CCM != "" {
		text += ", ccm " + s.CCM
		if s.CCMVersion != "" && s.CCM != s.CCMVersion {
			text += " (" + s.CCMVersion + ")"
		}
	}
	if trends := report.Trends(s); trends != "" {
		text += "\nbeside " + s.Baseline + ": " + trends
	}
	_, err := io.WriteString(w, text+"\n")
	return err
}
