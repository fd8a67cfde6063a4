package tutorial

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
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
	parts   []part
	pending []said // comments since the last line that was not empty
	errs    []error
}

// part is a Part before the blocks of its step have stopped growing.
type part struct {
	text  []string
	block int // counted from 1
	offer *Offer
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
		p.write("")
		return
	case remark != nil:
		p.pending = append(p.pending, said{p.at + 1, remark[1]})
		return
	case strings.HasPrefix(trimmed, fence):
		p.block(trimmed)
		return
	}
	if strings.HasPrefix(text, "## ") {
		needs := p.stepNeeds()
		p.unused()
		p.endStep()
		p.step = Step{Heading: strings.TrimSpace(text[3:]), Line: p.at + 1, Needs: needs}
		return
	}
	p.unused()
	if strings.HasPrefix(text, "# ") && p.page.Title == "" {
		p.page.Title = strings.TrimSpace(text[2:])
		return
	}
	p.write(text)
}

// write takes a line of prose.
func (p *parser) write(text string) {
	p.prose = append(p.prose, text)
	p.show(text)
}

// show takes a line that a reader sees.
func (p *parser) show(text string) {
	if n := len(p.parts); n == 0 || p.parts[n-1].text == nil {
		p.parts = append(p.parts, part{text: []string{}})
	}
	last := &p.parts[len(p.parts)-1]
	last.text = append(last.text, text)
}

func (p *parser) endStep() {
	p.step.Prose = strings.TrimSpace(strings.Join(p.prose, "\n"))
	for _, part := range p.parts {
		switch text := strings.Trim(strings.Join(part.text, "\n"), "\n"); {
		case part.block > 0:
			p.step.Parts = append(p.step.Parts, Part{Block: &p.step.Blocks[part.block-1]})
		case part.offer != nil:
			p.step.Parts = append(p.step.Parts, Part{Offer: part.offer})
		case text != "":
			p.step.Parts = append(p.step.Parts, Part{Text: text})
		}
	}
	if p.step.Heading != "" || len(p.step.Parts) > 0 {
		p.page.Steps = append(p.page.Steps, p.step)
	}
	p.step, p.prose, p.parts = Step{}, nil, nil
}

// stepNeeds takes out of the comments what is said of the step that begins below them.
func (p *parser) stepNeeds() []string {
	var found []string
	p.pending = slices.DeleteFunc(p.pending, func(s said) bool {
		if word, ok := named(s.text); !ok || word != "needs" {
			return false
		}
		var b Block
		if err := b.directive(s.text); err != nil {
			p.fail(s.line, "%w", err)
		}
		found = append(found, b.Needs...)
		return true
	})
	return found
}

// offered takes the offers out of the comments.
func (p *parser) offered() {
	var o *Offer
	whole := func() {
		if o == nil {
			return
		}
		if err := o.whole(); err != nil {
			p.fail(o.Line, "%w", err)
		}
		p.parts = append(p.parts, part{offer: o})
		o = nil
	}
	p.pending = slices.DeleteFunc(p.pending, func(s said) bool {
		word, ok := named(s.text)
		if !ok || !slices.Contains(offers(), word) {
			return false
		}
		if word == "offer" {
			whole()
		}
		if o == nil {
			o = &Offer{Line: s.line}
		}
		if err := o.directive(s.text); err != nil {
			p.fail(s.line, "%w", err)
		}
		return true
	})
	whole()
}

// unused makes offers of the comments, and complains of directives that are above no block; other comments are nobody's
// business.
func (p *parser) unused() {
	p.offered()
	for _, s := range p.pending {
		switch word, ok := named(s.text); {
		case ok && slices.Contains(directives(), word):
			p.fail(s.line, "%q is not above a block of commands", s.text)
		case ok:
			p.fail(s.line, "%w", unknown(s.text, word))
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
		for _, text := range p.page.lines[begin:min(end+1, len(p.page.lines))] {
			p.show(text)
		}
		return
	}
	p.offered()
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
	p.parts = append(p.parts, part{block: len(p.step.Blocks)})
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
