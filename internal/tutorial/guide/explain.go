package guide

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
)

// explain says in words what differs from the page, why that may be, and what to do.
func (g *walk) explain(s stop, m *tutorial.Mismatch, err error) {
	if m == nil {
		g.screen.words(red, "  ✗", fmt.Sprintf("It could not be run to its end: %v", err))
		g.because(s)
		return
	}
	check := s.Block.Check != "" && m.Command == s.Block.Check
	switch {
	case check:
		g.screen.words(red, "  ✗", "It was run, and the world is not as it should be now. The page asks:")
		g.screen.say("      $ %s", m.Command)
		for _, line := range lines(m.Output, 6) {
			g.screen.say("      %s", line)
		}
	case m.Exit != m.WantExit:
		g.screen.words(red, "  ✗", fmt.Sprintf("It ended with status %d, and the page expects %d%s.", m.Exit, m.WantExit, or(m.WantExit == 0, ", success", ", an error")))
	default:
		g.screen.words(red, "  ✗", fmt.Sprintf("This is not what the page says (line %d of it).", m.Line))
		g.screen.say("      expected: %s\n      there is: %s", told(m.Want, "nothing more"), told(m.Got, "nothing more"))
		if strings.Contains(m.Want, "…") {
			g.screen.line(dim, "      (… stands for whatever differs from run to run)")
		}
	}
	if m.Waited > 0 {
		g.screen.words(0, "   ", fmt.Sprintf("It was tried for %s. On a machine that is busy, try again.", m.Waited))
	}
	if hint := hint(m); hint != "" {
		g.screen.words(0, "   ", hint)
	}
	g.because(s)
}

// because names what was left out or did something else before.
func (g *walk) because(s stop) {
	const most = 3
	var before []Doubt
	for _, d := range g.place.Doubts {
		if d.Line < s.Block.Commands[g.place.Command].Line {
			before = append(before, d)
		}
	}
	if len(before) == 0 {
		return
	}
	g.screen.words(0, "   ", "That may be because of what was not done before as the page has it:")
	for _, d := range before[max(0, len(before)-most):] {
		first, _, _ := strings.Cut(d.Command, "\n")
		g.screen.say("      step %d: $ %s (%s)", d.Step, first, or(d.Skipped, "skipped", "it did something else"))
	}
	g.screen.words(0, "   ", "Type that in another terminal, or quit and go back: "+g.Again+" --from "+fmt.Sprint(before[0].Step))
}

var missing = regexp.MustCompile(`(?m)^.*: (\S+): (?:command )?not found$`)

// hint says what is wrong with the machine or the world rather than with the command, where that shows.
func hint(m *tutorial.Mismatch) string {
	switch {
	case m.Exit == 127 && missing.MatchString(m.Output):
		return fmt.Sprintf("There is no program %s in this shell. Where the page sets an alias for it, that was skipped.", missing.FindStringSubmatch(m.Output)[1])
	case strings.Contains(m.Output, "no sandbox is running"), strings.Contains(m.Output, "no sandboxes"):
		return "No sandbox is running here: it was never booted, or it has ended. The page boots one with \"vsphere-sandbox up\"."
	case strings.Contains(m.Output, "already runs"), strings.Contains(m.Output, "is running already"), strings.Contains(m.Output, "already-running"):
		return "It runs already: perhaps this was done before, here or in another terminal. Then go on anyway."
	case strings.Contains(m.Output, "AlreadyExists"), strings.Contains(m.Output, "already exists"):
		return "That exists already: perhaps this was done before, here or in another terminal. Then go on anyway."
	}
	return ""
}

func told(line, nothing string) string {
	if strings.TrimSpace(line) == "" {
		return "(" + nothing + ")"
	}
	return strings.TrimSpace(line)
}

// lines are the last of an output.
func lines(output string, most int) []string {
	all := strings.Split(strings.TrimRight(output, "\n"), "\n")
	return all[max(0, len(all)-most):]
}
