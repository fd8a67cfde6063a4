package topology

import (
	"maps"
	"slices"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// scope is a set of unique names to which other fields refer.
type scope struct {
	*problems
	noun string // what the names identify: "host"
	seen map[string]*path
	// broken is set if a name is missing, so that references to it are not reported, too.
	broken bool
}

func newScope(p *problems, noun string) *scope {
	return &scope{problems: p, noun: noun, seen: map[string]*path{}}
}

// add adds the name of a field and reports a duplicate.
func (s *scope) add(name string, field *path) {
	if name == "" {
		s.broken = true
		return
	}
	first, taken := s.seen[name]
	if !taken {
		s.seen[name] = field
		return
	}
	if s.has(field) {
		return
	}
	s.field(field, "", "%s %s is already there, on line %s", s.noun, strict.Shown(name), s.line(field, first))
}

// once is add for a list of words, of which empty ones were reported.
func (s *scope) once(word string, field *path) {
	if first, taken := s.seen[word]; word != "" && taken {
		s.field(field, "", "%s is already there, on line %s", strict.Shown(word), s.line(field, first))
	}
	s.seen[word] = field
}

// enter adds a name that may exist already.
func (s *scope) enter(name string, field *path) {
	if name == "" {
		s.broken = true
	} else if _, there := s.seen[name]; !there {
		s.seen[name] = field
	}
}

// forgive accepts all references if the list of names could not be read.
func (s *scope) forgive(list *path) { s.broken = s.broken || s.has(list) }

// refer reports a field without a target in the scope.
func (s *scope) refer(name string, field *path, where string) bool {
	if _, ok := s.seen[name]; ok {
		return true
	}
	if !s.broken && !s.has(field) {
		hint := ""
		if s.Afford(len(s.seen)) {
			hint = nearest.Of(name, slices.Sorted(maps.Keys(s.seen)))
		}
		s.field(field, hint, "there is no %s %s in %s", s.noun, strict.Shown(name), where)
	}
	return false
}

// referAll checks a list of unique references.
func (s *scope) referAll(names []string, list *path, where string) {
	twice := newScope(s.problems, s.noun)
	for i, name := range names {
		at := list.item(i)
		checkName(s.problems, at, name, anyName)
		twice.add(name, at)
		if name != "" {
			s.refer(name, at, where)
		}
	}
}
