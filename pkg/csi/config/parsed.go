package config

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	provider "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// value is the text of a key, with its position.
type value struct {
	text         string
	line, column int
	path         string // [Section "sub"] key
	set          bool
	// environment reports that path is the name of an environment variable.
	environment bool
}

func (v value) or(other value) value {
	if v.set {
		return v
	}
	return other
}

// values are the values of one section, by key.
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

// parsedFile is the parsed file.
type parsedFile struct {
	file     string
	problems []provider.Problem
	// unreadable reports that a line is not INI.
	unreadable bool

	global, labels, snapshot *values
	// by second name
	vcenters, categories, permissions map[string]*values
}

func (w *parsedFile) problem(v value, hint, format string, args ...any) {
	file := w.file
	if v.environment {
		file = "environment"
	}
	w.problems = append(w.problems, provider.Problem{
		File: file, Line: v.line, Column: v.column, Path: v.path, Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

func (w *parsedFile) warn(v value, format string, args ...any) {
	w.problem(v, "", format, args...)
	w.problems[len(w.problems)-1].Warning = true
}

// failed reports whether there are errors, not only warnings.
func (w *parsedFile) failed() bool {
	return slices.ContainsFunc(w.problems, func(p provider.Problem) bool { return !p.Warning })
}

// read parses the file.
func read(name string, data []byte) *parsedFile {
	w := &parsedFile{file: name, vcenters: map[string]*values{}, categories: map[string]*values{}, permissions: map[string]*values{}}
	if len(data) > maxSize {
		w.problem(value{}, "", "is longer than the %d MiB a driver config may have", maxSize>>20)
		return w
	}
	if what, hint := strict.Encoding(data); what != "" {
		w.problem(value{}, hint, "file %s", what)
		return w
	}
	sections, problems := provider.ReadINI(name, bytes.TrimPrefix(data, []byte("\uFEFF")))
	w.problems, w.unreadable = problems, len(problems) > 0
	if len(sections) == 0 && len(problems) == 0 {
		w.problem(value{}, "", "file is empty")
	}
	for _, s := range sections {
		w.section(s)
	}
	return w
}

func (w *parsedFile) section(s provider.INISection) {
	title := s.Title()
	at := value{line: s.Line, column: s.Column, path: title}
	known, ok := sectionNamed(s.Name)
	switch {
	case !ok: // upstream ignores it too
		w.problem(at, sectionHint(s.Name), "has no effect: unknown section")
		w.problems[len(w.problems)-1].Warning = true
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

// into returns the destination of a section's values; a section may occur several times.
func (w *parsedFile) into(known section, sub string) *values {
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
	case "NetPermissions":
		return among(w.permissions)
	}
	return among(w.categories)
}

func (w *parsedFile) entry(known section, into *values, e provider.INIEntry) {
	v := value{text: e.Value, line: e.Line, column: e.Column, path: into.title + " " + e.Key}
	k, ok := known.key(e.Key)
	before := into.by[k.name]
	switch {
	case !ok:
		v.path = into.title + " " + e.DisplayKey()
		w.problem(v, keyHint(known, e.Key), "has no effect: unknown key")
		w.problems[len(w.problems)-1].Warning = true
		return
	case e.Bare && k.name != "insecure-flag":
		w.problem(v, "", "has no value")
		return
	case e.Bare:
		v.text = "true"
	}
	if before.line > 0 { // the last one counts
		w.warn(before, "has no effect: is set again in line %d", v.line)
	}
	w.problems = append(w.problems, e.Suspicions(w.file, v.path)...)
	v.set = strings.TrimSpace(v.text) != "" // empty counts as missing
	into.by[k.name] = v
	if k.unused != "" {
		w.warn(v, "has no effect: %s", k.unused)
	}
}

func sorted(of map[string]*values) []string { return slices.Sorted(maps.Keys(of)) }
