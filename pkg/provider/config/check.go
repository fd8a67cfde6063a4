package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

var (
	thumbprint = regexp.MustCompile(`^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){19}$|^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){31}$`)
	// reference is a managed object reference, an alternative to a datacenter's name or path.
	reference = regexp.MustCompile(`^([A-Z][A-Za-z]+):([a-z-]+[0-9]+)$`)
)

// check validates the values of one section, used or not.
func (e *endpoint) check(p *problems) {
	if e.server.good() {
		if message, hint := hostProblem(e.server.value); message != "" {
			p.at(e.server.at, hint, message, withoutLogin(e.server.value))
		}
	}
	if e.port.good() && (e.port.value < 1 || e.port.value > 65535) {
		p.at(e.port.at, "", "%d is out of range", e.port.value)
	}
	if n := e.soapRoundtripCount; n.good() && n.value < 1 {
		p.at(n.at, "", "%d is less than 1", n.value)
	}
	if e.thumbprint.good() && !thumbprint.MatchString(e.thumbprint.value) {
		p.at(e.thumbprint.at, "", "%q: must be a SHA-1 or SHA-256 fingerprint with colons", e.thumbprint.value)
	}
	e.checkSecrets(p)
	e.checkDatacenters(p)
	e.checkFamilies(p)
}

// checkSecrets reports incomplete or contradictory sources of credentials.
func (e *endpoint) checkSecrets(p *problems) {
	some := e.secretName.or(e.secretNamespace)
	switch {
	case some.set && e.secretsDirectory.set:
		p.at(e.secretsDirectory.at, "keep one of the two", "credentials cannot come from a directory and from a Secret")
	case e.secretName.set != e.secretNamespace.set:
		p.at(some.at, "", "a Secret's name and namespace must be set together")
	}
}

func (e *endpoint) checkDatacenters(p *problems) {
	var seen []string
	for _, dc := range e.datacenters.value {
		dc = strings.TrimSpace(dc)
		m := reference.FindStringSubmatch(dc)
		switch {
		case dc == "":
			p.at(e.datacenters.at, "", "an entry is empty")
		case slices.Contains(seen, dc):
			p.at(e.datacenters.at, "", "%q is listed twice", dc)
		case m != nil && m[1] != "Datacenter":
			p.at(e.datacenters.at, "", "%q is a %s, not a Datacenter", dc, m[1])
		case strings.Contains(dc, ","):
			p.warn(e.datacenters.at, "%q is one datacenter, with a comma in its name", dc)
		}
		seen = append(seen, dc)
	}
}

func (e *endpoint) checkFamilies(p *problems) {
	var seen []IPFamily
	for _, name := range e.ipFamily.value {
		f := family(name)
		if f != IPv4 && f != IPv6 {
			p.at(e.ipFamily.at, "", "%q is neither ipv4 nor ipv6", name)
		} else if slices.Contains(seen, f) {
			p.at(e.ipFamily.at, "", "%q is listed twice", name)
		}
		seen = append(seen, f)
	}
}

// Problem is an error or a warning about a configuration.
type Problem struct {
	// File is the file's name as given, or "environment".
	File string
	// Line and Column count from 1; 0 if unknown.
	Line, Column int
	// Path is the key as written: global.caFile, [Global] ca-file, VSPHERE_CAFILE. It is empty for a whole file.
	Path    string
	Message string
	// Hint is a suggestion, or empty.
	Hint string
	// Warning reports that the configuration is usable nevertheless.
	Warning bool
}

// String returns "FILE:LINE: PATH: MESSAGE, HINT" without empty parts.
func (p Problem) String() string {
	s := p.File
	if p.Line > 0 {
		s += fmt.Sprintf(":%d", p.Line)
	}
	s += ": "
	if p.Path != "" {
		s += p.Path + ": "
	}
	s += p.Message
	if p.Hint != "" {
		s += ", " + p.Hint
	}
	return s
}

// Error contains all errors of a configuration, in the order of the file where the line is known. It has no warnings.
type Error struct {
	Problems []Problem
}

// Error lists the problems, one per line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

type problems struct {
	list []Problem
}

func (p *problems) add(at position, warning bool, hint, format string, args ...any) {
	p.list = append(p.list, Problem{
		File: at.file, Line: at.line, Column: at.column, Path: at.path,
		Message: fmt.Sprintf(format, args...), Hint: hint, Warning: warning,
	})
}

func (p *problems) at(at position, hint, format string, args ...any) {
	p.add(at, false, hint, format, args...)
}

// maxHints is for how many problems a hint is computed, which takes longer than finding them: a file of random data has tens
// of thousands.
const maxHints = 1000

// unknown reports an unknown key.
func (p *problems) unknown(at position, hint func() string) {
	said := ""
	if len(p.list) < maxHints {
		said = hint()
	}
	p.at(at, said, "unknown key")
}

func (p *problems) warn(at position, format string, args ...any) {
	p.add(at, true, "", format, args...)
}

// sorted returns the problems of the file by line, then those of the environment.
func (p *problems) sorted() []Problem {
	slices.SortStableFunc(p.list, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(environmentLast(a), environmentLast(b)),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
		)
	})
	return p.list
}

func environmentLast(p Problem) int {
	if p.File == environment {
		return 1
	}
	return 0
}

// unknownHint suggests a key for an unknown one. all are the section's keys, and elsewhere are the full names of the keys of
// other sections by folded name.
func unknownHint(key string, all []string, elsewhere map[string]string) string {
	if best := nearest.Of(key, all); best != "" {
		return "did you mean " + best + "?"
	}
	if there := elsewhere[fold(key)]; there != "" {
		return "did you mean " + there + "?"
	}
	return ""
}

// fold maps insecure-flag, insecure_flag and InsecureFlag to the same text.
func fold(key string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(key))
}
