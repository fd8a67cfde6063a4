package guide

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
)

// stop is one thing on the way: a part of a step, or only its heading.
type stop struct {
	number int // of the step, counted from 1; what is before the first heading is 0
	step   *tutorial.Step
	first  bool // of its step
	last   bool
	tutorial.Part
}

// stops are all of a page, in their order.
func stops(p *tutorial.Page) []stop {
	var found []stop
	number := 0
	for i := range p.Steps {
		step := &p.Steps[i]
		if step.Heading != "" {
			number++
		}
		parts := step.Parts
		if len(parts) == 0 {
			parts = []tutorial.Part{{}}
		}
		for k, part := range parts {
			found = append(found, stop{number, step, k == 0, k == len(parts)-1, part})
		}
	}
	return found
}

// Steps counts the headings of a page.
func Steps(p *tutorial.Page) int {
	return len(Headings(p))
}

// Headings are those of a page's steps.
func Headings(p *tutorial.Page) []string {
	var found []string
	for _, s := range p.Steps {
		if s.Heading != "" {
			found = append(found, s.Heading)
		}
	}
	return found
}

// NoStep is that a page has no such step.
type NoStep struct {
	Asked, Guess string
	Headings     []string
}

// Error names what there is.
func (e *NoStep) Error() string { return fmt.Sprintf("there is no step %q", e.Asked) }

// find returns the first stop of a step, by its number or by how its heading begins.
func find(all []stop, asked string) (int, error) {
	e := &NoStep{Asked: asked}
	n, err := strconv.Atoi(asked)
	for i, s := range all {
		if !s.first {
			continue
		}
		if err == nil && s.number == n || err != nil && asked != "" && strings.HasPrefix(strings.ToLower(s.step.Heading), strings.ToLower(asked)) {
			return i, nil
		}
		if s.step.Heading != "" {
			e.Headings = append(e.Headings, s.step.Heading)
		}
	}
	e.Guess = nearest.Of(asked, e.Headings)
	return 0, e
}

// before calls f for every command before a place, with the number of its stop.
func before(all []stop, at Place, f func(stop int, b *tutorial.Block, i int)) {
	for n := range all[:min(at.Stop+1, len(all))] {
		b := all[n].Block
		if b == nil {
			continue
		}
		for i := range b.Commands {
			if n < at.Stop || i < at.Command {
				f(n, b, i)
			}
		}
	}
}
