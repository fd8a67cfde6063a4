package expect

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// Log is a statement about the lines of a component's log: that a matching one exists, or how many.
type Log struct {
	Component string `json:"component"`
	// Matches is a regular expression that matches the line.
	Matches string `json:"matches"`
	// Count is how many lines; default at least one.
	Count *Count `json:"count,omitempty"`
	Since string `json:"since,omitempty"`

	matches *regexp.Regexp
}

func (l *Log) check(r *strict.Reader, node *yaml.Node, path string) {
	if l.Component == "" {
		r.Errorf(node, path, "needs a component: component: ccm")
	}
	if l.Matches == "" {
		r.Errorf(node, path, "needs a pattern: matches: REGEXP")
	}
	l.matches = expression(r, node, path, "matches", l.Matches)
}

// String returns a short description.
func (l *Log) String() string {
	text := fmt.Sprintf("log of %s has /%s/", l.Component, l.Matches)
	if l.Count != nil {
		text += ", count " + l.Count.String()
	}
	if l.Since != "" {
		text += " since " + l.Since
	}
	return text
}

// logTracker counts lines as they arrive.
type logTracker struct {
	want  *Log
	since *Mark
	seen  int
	begun bool
	count int
	last  string
}

// DependsOn returns false for all kinds: logs are no part of the world.
func (t *logTracker) DependsOn(world.Kind) bool { return false }

func (t *logTracker) Evaluate(v *View) Finding {
	if !t.begun {
		t.begun, t.seen = true, t.since.Lines[t.want.Component]
	}
	lines := v.Lines[t.want.Component]
	for ; t.seen < len(lines); t.seen++ {
		if t.want.matches.MatchString(lines[t.seen]) {
			t.count++
			t.last = lines[t.seen]
		}
	}
	if t.want.Count != nil {
		return Finding{Met: t.want.Count.Has(float64(t.count))}
	}
	return Finding{Met: t.count > 0}
}

func (t *logTracker) Describe(v *View) []string {
	if t.count > 0 {
		return []string{fmt.Sprintf("there were %d such lines, the last one: %s", t.count, strings.TrimSpace(t.last))}
	}
	lines := v.Lines[t.want.Component]
	found := []string{fmt.Sprintf("there was no such line among %d", len(lines)-t.since.Lines[t.want.Component])}
	for _, line := range lines[max(0, len(lines)-3):] {
		found = append(found, "the log ends: "+strings.TrimSpace(line))
	}
	return found
}

func (t *logTracker) RelatedEvents(*View) []event.Event { return nil }
