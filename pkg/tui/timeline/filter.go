package timeline

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/glob"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/fold"
)

// filter selects rows. The zero value accepts all.
type filter struct{ terms []term }

// term is a word of a filter: a plain word, or key:value.
type term struct {
	key   string // "" for a word, # for the number of an event
	value string // in lower case
	seq   uint64
	not   bool
}

// keys are the keys of terms.
func isKey(key string) bool {
	switch key {
	case "object", "kind", "plane", "level":
		return true
	}
	return false
}

// parse parses a filter, see [Screen.SetFilter].
func parse(text string) filter {
	var f filter
	for _, word := range words(text) {
		var t term
		word = strings.ToLower(word)
		if rest, ok := strings.CutPrefix(word, "!"); ok && rest != "" {
			t.not, word = true, rest
		}
		key, value, ok := strings.Cut(word, ":")
		if ok && isKey(key) {
			if value == "" { // it is being typed
				continue
			}
			t.key, t.value = key, value
		} else if seq, err := strconv.ParseUint(strings.TrimPrefix(word, "#"), 10, 64); err == nil && word[0] == '#' {
			t.key, t.seq = "#", seq
		} else {
			t.value = word
		}
		f.terms = append(f.terms, t)
	}
	return f
}

// words splits at spaces that are not in quotes.
func words(s string) []string {
	quoted := false
	fields := strings.FieldsFunc(s, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	})
	all := fields[:0]
	for _, f := range fields {
		if f = strings.ReplaceAll(f, `"`, ""); f != "" {
			all = append(all, f)
		}
	}
	return all
}

// facts are the texts of a row for the filter.
type facts struct {
	kind, vcenter, object, message string
	plane                          event.Plane
	lane                           lane
	level                          event.Level
	seq, cause                     uint64
}

func factsOf(e event.Event) facts {
	return facts{e.Kind, e.Object.VCenter, e.Object.Name, e.Message, e.Plane, laneOf(e), e.Level, e.Seq, e.Cause}
}

func burstFacts(b *fold.Burst) facts {
	f := facts{
		kind: b.Method, vcenter: b.VCenter, object: b.Client, message: b.Error, plane: "calls", lane: driversLane, level: event.Info,
	}
	if b.Errors > 0 {
		f.level = event.Warning
	}
	return f
}

// match reports whether a row passes the filter.
func (f filter) match(r facts) bool {
	for i := range f.terms {
		if t := &f.terms[i]; t.match(r) == t.not {
			return false
		}
	}
	return true
}

func (t *term) match(r facts) bool {
	switch t.key {
	case "#":
		return r.seq == t.seq || r.cause == t.seq
	case "kind":
		if glob.IsPattern(t.value) {
			return glob.Fold(t.value, r.kind)
		}
		n := len(t.value)
		return hasPrefix(r.kind, t.value) && (len(r.kind) == n || r.kind[n] == '.')
	case "object":
		return t.isObject(r)
	case "plane":
		return t.is(string(r.plane)) || hasPrefix(r.lane.String(), t.value) || r.lane == kubeLane && t.value == "k8s"
	case "level":
		return loud(r.level) >= loud(event.Level(t.value))
	}
	if contains(r.kind, t.value) || contains(r.object, t.value) || contains(r.vcenter, t.value) ||
		contains(r.message, t.value) || contains(string(r.plane), t.value) {
		return true
	}
	return strings.Contains(t.value, "/") && r.vcenter != "" && contains(r.vcenter+"/"+r.object, t.value)
}

// isObject reports whether a text names the object: by its name, with or without its vCenter or its namespace, or as a part of
// "pvc-1 at worker-1".
func (t *term) isObject(r facts) bool {
	if t.is(r.object) || r.vcenter != "" && (t.is(r.vcenter) || t.is(r.vcenter+"/"+r.object)) {
		return true
	}
	if !strings.ContainsAny(r.object, " /") {
		return false
	}
	for part := range strings.FieldsSeq(r.object) {
		_, name, _ := strings.Cut(part, "/")
		if t.is(part) || name != "" && t.is(name) {
			return true
		}
	}
	return false
}

// is reports whether a value matches the term.
func (t *term) is(s string) bool {
	if glob.IsPattern(t.value) {
		return glob.Fold(t.value, s)
	}
	return strings.EqualFold(s, t.value)
}

// loud orders levels. A prefix, as it is being typed, counts as the level.
func loud(l event.Level) int {
	switch {
	case l == "":
		return 0
	case strings.HasPrefix("warning", string(l)):
		return 1
	case strings.HasPrefix("error", string(l)):
		return 2
	}
	return 0
}

// contains reports whether s contains a lower-case word, in any case. It runs for every event at every typed letter, and
// allocates nothing.
func contains(s, word string) bool {
	if word == "" {
		return true
	}
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			return strings.Contains(strings.ToLower(s), word)
		}
	}
	first, upper := word[0], word[0]
	if 'a' <= first && first <= 'z' {
		upper -= 'a' - 'A'
	}
	for len(s) >= len(word) {
		i := strings.IndexByte(s, first)
		if i < 0 {
			i = len(s)
		}
		if upper != first {
			if j := strings.IndexByte(s[:i], upper); j >= 0 {
				i = j
			}
		}
		if i == len(s) {
			return false
		}
		if hasPrefix(s[i:], word) {
			return true
		}
		s = s[i+1:]
	}
	return false
}

// hasPrefix reports whether s begins with a lower-case word, in any case.
func hasPrefix(s, word string) bool {
	if len(s) < len(word) {
		return false
	}
	for i := range len(word) {
		if lower(s[i]) != word[i] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
