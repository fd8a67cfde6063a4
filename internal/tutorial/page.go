package tutorial

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Page is a tutorial as it is written. It is not changed after Parse, and may be used by many at once.
type Page struct {
	File  string // as it was opened; errors begin with it
	Name  string // of its folder, such as 01-first-run; empty if it has none
	Title string
	Steps []Step // what stands before the first heading is one without Heading, if there is anything to run

	lines []string
}

// Step is what stands under a heading of the second level.
type Step struct {
	Heading string
	Line    int // of the heading
	Prose   string
	Blocks  []Block
	Needs   []string // what all of it needs of a machine; see Needs
	Parts   []Part   // all of it, in its order
}

// Part is one of the things that a step consists of; the others are zero.
type Part struct {
	Text  string // Markdown, blocks of other languages with it
	Block *Block // of the step's blocks
	Offer *Offer
}

// Block is one block of commands, which a reader takes for one piece.
type Block struct {
	Line       int           // of the fence
	Terminal   int           // 1 is the first
	Wait       time.Duration // for how long commands are repeated; 0 is once
	Background bool          // the last command goes on running
	Exit       int           // the status that the last command ends with
	NotRun     string        // why a test does not run it; empty if it does
	Needs      []string      // what it needs of a machine, that of its step left out; see Needs
	Check      string        // a command that ends with 0 when the world is as it is to be afterwards; empty for none
	Commands   []Command
}

// Command is a command and what it prints.
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

// numbered is the name of a tutorial's folder.
var numbered = regexp.MustCompile(`^\d\d-[a-z0-9-]+$`)

// Load reads a page.
func Load(file string) (*Page, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, string(data))
}

// List returns the pages below a folder of tutorials, dir/NN-name/README.md, in their order. Other folders are not looked
// at; one that is numbered and has no page is an error.
func List(dir string) ([]*Page, error) { return Pages(os.DirFS(dir), dir) }

// Pages is [List] of files that may be elsewhere; errors and pages name them as if they were below dir.
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

// Words counts what there is to read, commands and outputs left out.
func (p *Page) Words() int {
	n := 0
	for _, s := range p.Steps {
		n += len(strings.Fields(s.Prose))
	}
	return n
}

// Check says what a page lacks to be a tutorial: something that is run, and the two sections that each ends with.
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

// minutes is how a page says how long it takes.
var minutes = regexp.MustCompile(`(?i)\b(one|two|three|four|five|six|seven|eight|nine|ten)\s+minutes?\b`)

// Minutes is how long a reader takes, commands and all, as the page says before its first heading: "Ten minutes." It is 0
// if it does not say.
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
