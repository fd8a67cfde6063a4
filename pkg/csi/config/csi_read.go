package config

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	provider "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// value is what is written for a key, with where that is.
type value struct {
	text         string
	line, column int
	path         string // [Section "sub"] key
	set          bool
}

// or returns the first of two that is set.
func (v value) or(other value) value {
	if v.set {
		return v
	}
	return other
}

// values are those of one section, by the keys' names.
type values struct {
	title        string
	line, column int
	by           map[string]value
}

func (v *values) get(key string) value {
	if v == nil {
		return value{}
	}
	return v.by[key]
}

// written is a csi-vsphere.conf as written.
type written struct {
	file     string
	problems []provider.Problem

	global, labels, snapshot *values
	vcenters, categories     map[string]*values // by second name
}

func (w *written) problem(v value, hint, format string, args ...any) {
	w.problems = append(w.problems, provider.Problem{
		File: w.file, Line: v.line, Column: v.column, Path: v.path, Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

func (w *written) warn(v value, format string, args ...any) {
	w.problem(v, "", format, args...)
	w.problems[len(w.problems)-1].Warning = true
}

// failed is whether there is more than warnings.
func (w *written) failed() bool {
	return slices.ContainsFunc(w.problems, func(p provider.Problem) bool { return !p.Warning })
}

// read takes the file apart.
func read(name string, data []byte) *written {
	w := &written{file: name, vcenters: map[string]*values{}, categories: map[string]*values{}}
	switch {
	case len(data) > maxSize:
		w.problem(value{}, "", "is longer than the %d MiB a driver config may have", maxSize>>20)
		return w
	case !utf8.Valid(data):
		w.problem(value{}, "", "file is not UTF-8 text")
		return w
	}
	sections, problems := provider.ReadINI(name, bytes.TrimPrefix(data, []byte("\uFEFF")))
	w.problems = problems
	if len(sections) == 0 && len(problems) == 0 {
		w.problem(value{}, "", "file is empty")
	}
	for _, s := range sections {
		w.section(s)
	}
	return w
}

func (w *written) section(s provider.INISection) {
	title := s.Title()
	at := value{line: s.Line, column: s.Column, path: title}
	known, ok := sectionNamed(s.Name)
	switch {
	case !ok:
		w.problem(at, sectionHint(s.Name), "unknown section")
		return
	case known.unused != "":
		w.warn(at, "has no effect: %s", known.unused)
		return
	case known.sub && !s.HasSub:
		w.problem(at, "", "this section has a second name in quotes: [%s \"NAME\"]", known.name)
		return
	case !known.sub && s.HasSub:
		w.problem(at, "", "this section has no second name")
		return
	}
	into := w.into(known, s.Sub)
	if into.by == nil {
		into.title, into.line, into.column, into.by = title, s.Line, s.Column, map[string]value{}
	}
	for _, e := range s.Entries {
		w.entry(known, into, e)
	}
}

// into is where a section's values go; a section may stand in several places.
func (w *written) into(known section, sub string) *values {
	one := func(v **values) *values {
		if *v == nil {
			*v = &values{}
		}
		return *v
	}
	among := func(m map[string]*values) *values {
		if m[sub] == nil {
			m[sub] = &values{}
		}
		return m[sub]
	}
	switch known.name {
	case "Global":
		return one(&w.global)
	case "Labels":
		return one(&w.labels)
	case "Snapshot":
		return one(&w.snapshot)
	case "VirtualCenter":
		return among(w.vcenters)
	}
	return among(w.categories)
}

func (w *written) entry(known section, into *values, e provider.INIEntry) {
	v := value{text: e.Value, line: e.Line, column: e.Column, path: into.title + " " + e.Key}
	k, ok := known.key(e.Key)
	before := into.by[k.name]
	switch {
	case !ok:
		v.path = into.title + " " + e.Called()
		w.problem(v, keyHint(known, e.Key), "unknown key")
		return
	case before.line > 0:
		w.problem(v, "", "is set in line %d already", before.line)
		return
	case e.Bare && k.name != "insecure-flag":
		w.problem(v, "", "has no value")
		return
	case e.Bare:
		v.text = "true"
	}
	v.set = strings.TrimSpace(v.text) != "" // what is empty counts as absent
	into.by[k.name] = v
	if k.unused != "" {
		w.warn(v, "has no effect: %s", k.unused)
	}
}

// sorted are the second names of sections.
func sorted(of map[string]*values) []string { return slices.Sorted(maps.Keys(of)) }
