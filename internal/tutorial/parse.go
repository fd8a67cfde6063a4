package tutorial

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

const (
	anything = "…"
	fence    = "```"
	console  = "console"
)

// comment matches an HTML comment alone on its line.
var comment = regexp.MustCompile(`^<!--\s*(.*?)\s*-->$`)

// Parse parses a page. The error joins all problems, each with file and line.
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

// parser is the state of Parse.
type parser struct {
	page    *Page
	at      int // the line, counted from 0
	step    Step
	prose   []string
	parts   []part
	pending []said // comments since the last line that was not empty
	errs    []error
}

// part is a Part whose blocks may still grow.
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

// line reads a line outside of blocks, or a whole block.
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

// write adds a line of prose.
func (p *parser) write(text string) {
	p.prose = append(p.prose, text)
	p.show(text)
}

// show adds a visible line.
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

// stepNeeds removes from the comments the needs of the step below.
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

// offered removes the offers from the comments.
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

// unused turns comments into offers, and reports directives without a block; it ignores other comments.
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
		p.fail(b.Line, "a background command is waited for anyway: remove the wait")
	case b.Background && b.Commands[len(b.Commands)-1].Interrupt:
		p.fail(b.Line, "^C leaves nothing in the background")
	}
	p.step.Blocks = append(p.step.Blocks, b)
	p.parts = append(p.parts, part{block: len(p.step.Blocks)})
}

// commands reads a range of lines.
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

// trim removes empty lines at the end.
func trim(lines []Line) []Line {
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1].Text) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

const notRun = "not run"

// directives are the first words of directives: of blocks, of needs of steps, and of offers.
func directives() []string {
	return append([]string{"wait", "terminal", "background", "exit", notRun, "needs", "check"}, offers()...)
}

// looks matches a directive, even if misspelled: other comments do not begin with a word and a colon.
var looks = regexp.MustCompile(`^([a-z]+(?: [a-z]+)?):`)

// named returns the directive of a comment, if it is one.
func named(text string) (directive string, ok bool) {
	for _, d := range directives() {
		rest, ok := strings.CutPrefix(text, d)
		if ok && (rest == "" || rest[0] == ':' || rest[0] == ' ' && !slices.Contains(offers(), d)) {
			return d, true
		}
	}
	if m := looks.FindStringSubmatch(text); m != nil {
		return m[1], true
	}
	return "", false
}

// unknown returns the error for a comment that is no directive.
func unknown(text, word string) error {
	guess := ""
	if near := nearest.Of(word, directives()); near != "" {
		guess = fmt.Sprintf("; did you mean %q?", near)
	}
	return fmt.Errorf("%q is no directive%s (%s)", text, guess, strings.Join(directives(), ", "))
}

// directive applies a comment above the block.
func (b *Block) directive(text string) error {
	if why, ok := strings.CutPrefix(text, notRun); ok {
		b.NotRun = strings.TrimSpace(strings.TrimPrefix(why, ":"))
		if b.NotRun == "" {
			return fmt.Errorf("%q: a reason is missing; write \"not run: why not\"", text)
		}
		return nil
	}
	word, value, _ := strings.Cut(text, " ")
	word, value = strings.TrimSuffix(word, ":"), strings.TrimSpace(value)
	var err error
	switch word {
	case "wait":
		b.Wait, err = time.ParseDuration(value)
		if err == nil && b.Wait <= 0 {
			err = fmt.Errorf("%s is no time to wait", value)
		}
	case "terminal":
		b.Terminal, err = number(value, 1, 9)
	case "exit":
		b.Exit, err = number(value, 1, 255)
	case "background":
		b.Background = true
		if value != "" {
			err = fmt.Errorf("%q is too much", value)
		}
	case "needs":
		b.Needs, err = needs(value)
	case "check":
		b.Check = value
		if value == "" {
			err = fmt.Errorf("a command is missing; write \"check: COMMAND\"")
		}
	default:
		return unknown(text, word)
	}
	if err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	return nil
}

func number(text string, least, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%q is not a number from %d to %d", text, least, most)
	}
	return n, nil
}

// Page is a tutorial. It is immutable after Parse, and may be used concurrently.
type Page struct {
	File  string // as it was opened; errors begin with it
	Name  string // of its folder, such as 01-first-run; empty if it has none
	Title string
	Steps []Step // what stands before the first heading is one without Heading, if there is anything to run

	lines []string
}

// Step is the content below a heading of the second level.
type Step struct {
	Heading string
	Line    int // of the heading
	Prose   string
	Blocks  []Block
	Needs   []string // what all of it needs of a machine; see Needs
	Parts   []Part   // all of it, in its order
}

// Part is one part of a step; only one field is set.
type Part struct {
	Text  string // Markdown, blocks of other languages with it
	Block *Block // of the step's blocks
	Offer *Offer
}

// Block is one block of commands.
type Block struct {
	Line       int           // of the fence
	Terminal   int           // 1 is the first
	Wait       time.Duration // for how long commands are repeated; 0 is once
	Background bool          // the last command keeps running
	Exit       int           // the status that the last command ends with
	NotRun     string        // why a test does not run it; empty if it does
	Needs      []string      // what it needs of a machine, that of its step left out; see Needs
	Check      string        // a command that exits with 0 if the block succeeded; may be empty
	Commands   []Command
}

// Command is a command with its output.
type Command struct {
	Line      int // counted from 1
	Text      string
	Interrupt bool   // no command, but ^C
	Want      []Line // what it prints
}

// Line is a line of expected output.
type Line struct {
	Number int // in the page, counted from 1
	Text   string
}

// numbered matches the name of a tutorial's folder.
var numbered = regexp.MustCompile(`^\d\d-[a-z0-9-]+$`)

// Load loads a page from a file.
func Load(file string) (*Page, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, string(data))
}

// List returns the pages below a folder of tutorials, dir/NN-name/README.md, in their order. It ignores other folders; a numbered
// one without a page is an error.
func List(dir string) ([]*Page, error) { return Pages(os.DirFS(dir), dir) }

// Pages is [List] for any file system; errors and pages have names below dir.
func Pages(files fs.FS, dir string) ([]*Page, error) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, err
	}
	var pages []*Page
	for _, e := range entries {
		if !e.IsDir() || !numbered.MatchString(e.Name()) {
			continue
		}
		const file = "README.md"
		data, err := fs.ReadFile(files, path.Join(e.Name(), file))
		if err != nil {
			return nil, err
		}
		page, err := Parse(filepath.Join(dir, e.Name(), file), string(data))
		if err != nil {
			return nil, err
		}
		pages = append(pages, page)
	}
	return pages, nil
}

// WordCount counts the words to read, without commands and outputs.
func (p *Page) WordCount() int {
	n := 0
	for _, s := range p.Steps {
		n += len(strings.Fields(s.Prose))
	}
	return n
}

// Check reports what a page lacks: a command, and the two sections at the end.
func (p *Page) Check() []error {
	var found []error
	run := false
	for _, s := range p.Steps {
		for _, b := range s.Blocks {
			run = run || b.NotRun == ""
		}
	}
	if p.Title == "" {
		found = append(found, fmt.Errorf("%s:1: no title: a page begins with \"# …\"", p.File))
	}
	if p.Minutes() == 0 {
		found = append(found, fmt.Errorf("%s: says nowhere before its first heading how many minutes it takes, of ten at most", p.File))
	}
	if !run {
		found = append(found, fmt.Errorf("%s: nothing in it is run", p.File))
	}
	ends := []string{"What you saw, and why", "On a real vCenter"}
	for i, want := range ends {
		at := len(p.Steps) - len(ends) + i
		if at < 0 || p.Steps[at].Heading != want {
			found = append(found, fmt.Errorf("%s: a tutorial ends with the sections %q and %q", p.File, ends[0], ends[1]))
			break
		}
	}
	return found
}

// minutes matches the duration of a page.
var minutes = regexp.MustCompile(`(?i)\b(one|two|three|four|five|six|seven|eight|nine|ten)\s+minutes?\b`)

// Minutes returns the reader's time for a page, from the text before its first heading: "Ten minutes." It is 0 without one.
func (p *Page) Minutes() int {
	if len(p.Steps) == 0 || p.Steps[0].Heading != "" {
		return 0
	}
	m := minutes.FindStringSubmatch(p.Steps[0].Prose)
	if m == nil {
		return 0
	}
	words := []string{"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
	return 1 + slices.Index(words, strings.ToLower(m[1]))
}
