package explain

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// width is that of the narrowest terminal that is catered for.
const width = 80

// shown is how many events are printed: the newest.
const shown = 25

// verdicts are how evidence is marked, by what it says.
var verdicts = map[string]string{
	"ok":      "✓ ok     ",
	"missing": "✗ missing",
	"wrong":   "✗ wrong  ",
	"unknown": "? unknown",
	"":        "·        ",
}

// levels mark questions.
var levels = map[event.Level]string{event.Info: "✓", event.Warning: "!", event.Error: "✗"}

// tell prints an explanation for people: the summary, each question with its answer and evidence, and what happened.
func tell(w io.Writer, e api.Explanation) error {
	p := &page{}
	p.put("", "", e.Summary)
	if e.Volume != nil {
		p.WriteString("\n")
		if err := tellVolume(p, *e.Volume); err != nil {
			return err
		}
	}
	for _, q := range e.Questions {
		p.WriteString("\n")
		p.put(levels[q.Level]+" ", "  ", q.Ask)
		p.put("  ", "  ", capital(q.Answer)+".")
		for _, v := range q.Evidence {
			text := v.What + ": " + v.Found
			if v.Source != "" {
				text += " [" + v.Source + "]"
			}
			p.put("    "+verdicts[v.Verdict]+"  ", strings.Repeat(" ", 4+9+2), text)
		}
		if q.Try != "" {
			p.put("  Try: ", "       ", q.Try)
		}
	}
	p.history(e.Events)
	_, err := io.WriteString(w, p.String())
	return err
}

// page is text that is being laid out.
type page struct{ strings.Builder }

// put writes a paragraph: first before its first line, further before all others. A word that is longer than a line is
// not cut: it may be something to copy.
func (p *page) put(first, further, text string) {
	line, used, empty := first, utf8.RuneCountInString(first), true
	for word := range strings.FieldsSeq(printable.Line(text)) {
		n := utf8.RuneCountInString(word)
		if !empty && used+1+n > width {
			p.WriteString(strings.TrimRight(line, " ") + "\n")
			line, used, empty = further, utf8.RuneCountInString(further), true
		}
		if !empty {
			line, used = line+" ", used+1
		}
		line, used, empty = line+word, used+n, false
	}
	p.WriteString(line + "\n")
}

// history prints events, each with how long it came after its cause.
func (p *page) history(events []event.Event) {
	if len(events) == 0 {
		return
	}
	p.WriteString("\nWhat happened:\n")
	if skipped := len(events) - shown; skipped > 0 {
		p.put("  ", "  ", fmt.Sprintf("(%d earlier events: -o json has them)", skipped))
	}
	at := map[uint64]time.Time{}
	for i, e := range events {
		at[e.Seq] = e.Time
		if i < len(events)-shown {
			continue
		}
		after := ""
		if cause, ok := at[e.Cause]; ok && e.Cause != 0 {
			after = fmt.Sprintf(" (+%s after #%d)", latency(e.Time.Sub(cause)), e.Cause)
		}
		object := e.Object.Name
		if e.Object.VCenter != "" && e.Object.VCenter != object {
			object = e.Object.VCenter + "/" + object
		}
		text := fmt.Sprintf("#%d %s %s: %s%s", e.Seq, e.Kind, object, e.Message, after)
		p.put("  "+e.Time.Format("15:04:05.000")+"  ", strings.Repeat(" ", 16), text)
	}
}

// latency is a duration as people read it.
func latency(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// capital begins a sentence.
func capital(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	if n == 0 {
		return text
	}
	return strings.ToUpper(string(r)) + text[n:]
}
