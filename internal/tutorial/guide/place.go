package guide

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
)

// Place is how far a reader is.
type Place struct {
	Page    string `json:"page"`
	Step    int    `json:"step"`    // its number; 0 is before the first
	Stop    int    `json:"stop"`    // what is next
	Command int    `json:"command"` // of a block, counted from 0
	// Text is of what is next, by which another release of the page is noticed.
	Text string `json:"text,omitempty"`
	// Typing says that the reader types the commands.
	Typing bool `json:"typing,omitempty"`
	// Theirs are the lines of commands that go on in the background in a terminal of the reader's.
	Theirs []int `json:"theirs,omitempty"`
	// Values are what variables were set to by commands whose answers may differ the next time, by the commands' lines.
	Values map[int]string `json:"values,omitempty"`
	// Doubts are commands that were left out, or did not do what the page says.
	Doubts []Doubt `json:"doubts,omitempty"`
}

// Doubt is a command that later ones may differ for.
type Doubt struct {
	Step    int    `json:"step"`
	Line    int    `json:"line"`
	Command string `json:"command"`
	Skipped bool   `json:"skipped,omitempty"` // not run; otherwise it did something else
}

const placeFile = "place.json"

// readPlace returns nil if there is none.
func readPlace(dir string) (*Place, error) {
	file := filepath.Join(dir, placeFile)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var p Place
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &p, nil
}

// write puts the place down, wholly or not at all.
func (p *Place) write(dir string) error {
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(dir, placeFile), append(data, '\n'), 0o600)
}

// text is what a page has at a place.
func text(all []stop, p Place) string {
	if p.Stop >= len(all) {
		return ""
	}
	s := all[p.Stop]
	switch {
	case s.Block != nil && p.Command < len(s.Block.Commands):
		return s.Block.Commands[p.Command].Text
	case s.Offer != nil:
		return s.Offer.Command
	}
	return s.step.Heading
}

// fit makes a place of one of another release of the page: the beginning of its step, if it is another.
func (p *Place) fit(all []stop) (moved bool) {
	if p.Stop >= 0 && p.Stop < len(all) && p.Command >= 0 && text(all, *p) == p.Text && all[p.Stop].number == p.Step {
		return false
	}
	for i, s := range all {
		if s.number == p.Step && s.first {
			p.Stop, p.Command = i, 0
			return true
		}
	}
	p.Stop, p.Command, p.Step = 0, 0, 0
	return true
}

func (p *Place) doubt(number int, c *tutorial.Command, skipped bool) {
	p.settle(c.Line)
	name := c.Text
	if c.Interrupt {
		name = "^C"
	}
	p.Doubts = append(p.Doubts, Doubt{number, c.Line, name, skipped})
}

// settle forgets a doubt: the command has done what it should.
func (p *Place) settle(line int) {
	kept := p.Doubts[:0]
	for _, d := range p.Doubts {
		if d.Line != line {
			kept = append(kept, d)
		}
	}
	p.Doubts = kept
}
