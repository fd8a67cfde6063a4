package tree

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/glob"
)

// Search returns a page of the objects that a query selects, of all kinds.
//
// A query is what Lucene's syntax has for one field: FIELD:VALUE with AND, OR, NOT and parentheses. A value may be quoted, a
// backslash takes the meaning of the next character, and * and ? are wildcards. A field may be one of a nested object:
// "tags.scope:x AND tags.tag:y" also selects an object that has them in two different tags, as NSX does.
func (t *Tree) Search(query string, p Page) (Result, error) {
	s := &parser{words: lex(query)}
	match, err := s.either()
	if err == nil && len(s.words) > 0 {
		err = fmt.Errorf("%q is not expected", s.words[0].text)
	}
	if err != nil {
		return Result{}, &Error{http.StatusBadRequest, 60508, "nsx-search", fmt.Sprintf("Invalid search query %q: %v.", query, err)}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settle(time.Now())
	var all []*node
	for _, n := range t.nodes {
		if !n.gone && match(n.object) {
			all = append(all, n)
		}
	}
	return t.page(all, p)
}

// word is a token of a query: a text, or with sign one of ( ) :.
type word struct {
	text  string
	sign  bool
	plain bool // nothing in it is quoted or escaped: AND, OR and NOT are operators
	exact bool // a wildcard in it is quoted or escaped: it stands for itself, as do all others
}

// lex splits a query.
func lex(query string) []word {
	var words []word
	var now strings.Builder
	open, plain, exact := false, true, false
	end := func() {
		if open {
			words = append(words, word{text: now.String(), plain: plain, exact: exact})
		}
		now.Reset()
		open, plain, exact = false, true, false
	}
	literal := func(r rune) {
		open = true
		now.WriteRune(r)
	}
	quoted, escaped := false, false
	for _, r := range query {
		switch {
		case escaped, quoted && r != '"' && r != '\\':
			literal(r)
			escaped, plain, exact = false, false, exact || glob.IsPattern(string(r))
		case r == '\\':
			escaped = true
		case r == '"':
			quoted, open, plain = !quoted, true, false
		case r == ' ' || r == '\t' || r == '\n':
			end()
		case r == '(' || r == ')' || r == ':':
			// The first colon separates: the rest belongs to the value.
			if r == ':' && len(words) > 0 && words[len(words)-1].sign && words[len(words)-1].text == ":" {
				literal(r)
				continue
			}
			end()
			words = append(words, word{text: string(r), sign: true})
		default:
			literal(r)
		}
	}
	end()
	return words
}

// predicate reports whether a query selects an object.
type predicate func(Object) bool

// maxDepth limits nested parentheses.
const maxDepth = 100

// parser reads a query.
type parser struct {
	words []word
	depth int
}

// keyword takes an operator, if it is next.
func (s *parser) keyword(text string) bool {
	if len(s.words) == 0 || s.words[0].sign || !s.words[0].plain || s.words[0].text != text {
		return false
	}
	s.words = s.words[1:]
	return true
}

// sign takes a sign, if it is next.
func (s *parser) sign(text string) bool {
	if len(s.words) == 0 || !s.words[0].sign || s.words[0].text != text {
		return false
	}
	s.words = s.words[1:]
	return true
}

func (s *parser) either() (predicate, error) {
	left, err := s.both()
	for err == nil && s.keyword("OR") {
		var right predicate
		if right, err = s.both(); err == nil {
			a := left
			left = func(o Object) bool { return a(o) || right(o) }
		}
	}
	return left, err
}

func (s *parser) both() (predicate, error) {
	left, err := s.term()
	for err == nil && s.keyword("AND") {
		var right predicate
		if right, err = s.term(); err == nil {
			a := left
			left = func(o Object) bool { return a(o) && right(o) }
		}
	}
	return left, err
}

func (s *parser) term() (predicate, error) {
	if s.depth++; s.depth > maxDepth {
		return nil, fmt.Errorf("it is nested too deeply")
	}
	defer func() { s.depth-- }()
	if s.keyword("NOT") {
		p, err := s.term()
		return func(o Object) bool { return !p(o) }, err
	}
	if s.sign("(") {
		p, err := s.either()
		if err == nil && !s.sign(")") {
			err = fmt.Errorf("a ) is missing")
		}
		return p, err
	}
	if len(s.words) == 0 || s.words[0].sign {
		return nil, fmt.Errorf("a field is missing")
	}
	name := s.words[0].text
	s.words = s.words[1:]
	if !s.sign(":") || len(s.words) == 0 || s.words[0].sign {
		return nil, fmt.Errorf("the field %q has no value", name)
	}
	value := s.words[0]
	s.words = s.words[1:]
	steps := strings.Split(name, ".")
	return func(o Object) bool {
		return slices.ContainsFunc(values(o, steps), func(v string) bool { return v == value.text || !value.exact && glob.Match(value.text, v) })
	}, nil
}

// values returns the values of a field, as texts.
func values(v any, steps []string) []string {
	switch v := v.(type) {
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, values(e, steps)...)
		}
		return all
	case Object:
		if len(steps) == 0 {
			var all []string
			for _, key := range slices.Sorted(maps.Keys(v)) {
				all = append(all, values(v[key], nil)...)
			}
			return all
		}
		return values(v[steps[0]], steps[1:])
	case nil:
		return nil
	}
	if len(steps) > 0 {
		return nil
	}
	return []string{fmt.Sprint(v)}
}
