package tutorial

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

const (
	anything = "…"
	fence    = "```"
	console  = "console"
)

// comment is one of HTML that is alone on its line.
var comment = regexp.MustCompile(`^<!--\s*(.*?)\s*-->$`)

// Parse reads a page. The error joins all that is wrong with it, each with file and line.
func Parse(file, text string) (*Page, error) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	p := &parser{page: &Page{File: file, lines: strings.Split(text, "\n")}}
	if name := filepath.Base(filepath.Dir(file)); numbered.MatchString(name) {
		p.page.Name = name
	}
	for p.at < len(p.page.lines) {
		p.line(p.page.lines[p.at])
		p.at++
	}
	p.unused()
	p.endStep()
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	return p.page, nil
}

// parser is where a reading of a page has got to.
type parser struct {
	page    *Page
	at      int // the line, counted from 0
	step    Step
	prose   []string
	pending []said // comments since the last line that was not empty
	errs    []error
}

// said is a comment.
type said struct {
	line int
	text string
}

func (p *parser) fail(line int, format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("%s:%d: %w", p.page.File, line, fmt.Errorf(format, args...)))
}

// line reads one that is in no block, or the whole block that it begins.
func (p *parser) line(text string) {
	trimmed := strings.TrimSpace(text)
	remark := comment.FindStringSubmatch(trimmed)
	switch {
	case trimmed == "":
		p.prose = append(p.prose, "")
		return
	case remark != nil:
		p.pending = append(p.pending, said{p.at + 1, remark[1]})
		return
	case strings.HasPrefix(trimmed, fence):
		p.block(trimmed)
		return
	}
	p.unused()
	switch {
	case strings.HasPrefix(text, "# ") && p.page.Title == "":
		p.page.Title = strings.TrimSpace(text[2:])
	case strings.HasPrefix(text, "## "):
		p.endStep()
		p.step = Step{Heading: strings.TrimSpace(text[3:]), Line: p.at + 1}
	default:
		p.prose = append(p.prose, text)
	}
}

func (p *parser) endStep() {
	p.step.Prose = strings.TrimSpace(strings.Join(p.prose, "\n"))
	if p.step.Heading != "" || len(p.step.Blocks) > 0 || p.step.Prose != "" {
		p.page.Steps = append(p.page.Steps, p.step)
	}
	p.step, p.prose = Step{}, nil
}

// unused complains of directives that are above no block; other comments are nobody's business.
func (p *parser) unused() {
	for _, s := range p.pending {
		if known(s.text) {
			p.fail(s.line, "%q is not above a block of commands", s.text)
		}
	}
	p.pending = nil
}

// block reads a block to its end.
func (p *parser) block(open string) {
	begin := p.at
	end := begin + 1
	for end < len(p.page.lines) && strings.TrimSpace(p.page.lines[end]) != fence {
		end++
	}
	if end == len(p.page.lines) {
		p.fail(begin+1, "the block has no end")
	}
	p.at = end
	if strings.TrimSpace(open[len(fence):]) != console {
		p.unused()
		return
	}
	b := Block{Line: begin + 1, Terminal: 1}
	for _, s := range p.pending {
		if err := b.directive(s.text); err != nil {
			p.fail(s.line, "%w", err)
		}
	}
	p.pending = nil
	p.commands(&b, begin+1, end)
	switch {
	case len(b.Commands) == 0:
		p.fail(b.Line, "no command in the block: a command begins with \"$ \"")
	case b.Wait > 0 && b.Background:
		p.fail(b.Line, "what goes on in the background is waited for anyway; leave the wait out")
	case b.Background && b.Commands[len(b.Commands)-1].Interrupt:
		p.fail(b.Line, "^C leaves nothing in the background")
	}
	p.step.Blocks = append(p.step.Blocks, b)
}

// commands reads the lines from up to, and without, end.
func (p *parser) commands(b *Block, from, end int) {
	begun := false // the last command has output
	for i := from; i < end; i++ {
		text := strings.TrimRight(p.page.lines[i], " \t")
		last := len(b.Commands) - 1
		command, isCommand := strings.CutPrefix(text, "$ ")
		more, isMore := strings.CutPrefix(text, "> ")
		switch {
		case isCommand && strings.TrimSpace(command) != "":
			b.Commands = append(b.Commands, Command{Line: i + 1, Text: command})
			begun = false
		case text == "^C":
			b.Commands = append(b.Commands, Command{Line: i + 1, Interrupt: true})
			begun = false
		case last < 0:
			p.fail(i+1, "output before the first command")
			return
		case (isMore || text == ">") && !begun && !b.Commands[last].Interrupt:
			b.Commands[last].Text += "\n" + more
		default:
			begun = true
			b.Commands[last].Want = append(b.Commands[last].Want, Line{i + 1, text})
		}
	}
	for i := range b.Commands {
		b.Commands[i].Want = trim(b.Commands[i].Want)
	}
}

// trim leaves out empty lines at the end.
func trim(lines []Line) []Line {
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1].Text) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
