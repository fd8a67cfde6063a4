package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

// iniReader reads the INI format: upstream's, and both formats of the in-tree provider.
type iniReader struct {
	name string
	p    *problems
	// set is the line of each key that is set.
	set map[string]int
}

// iniSections are the known sections, those without effect included, except for the ones of other files.
func iniSections() []string {
	return []string{
		"Global", "VirtualCenter", "Labels", "Nodes",
		"Workspace", "Disk", "Network", "NSXT", "NSX-T", "LoadBalancer", "LoadBalancerClass", "Route",
	}
}

// iniKeys are all known keys, those of sections without effect and of the CSI driver included.
func iniKeys() []string {
	return slices.Concat(
		names(globalFields(), iniName), names(labelFields(), iniName), names(nodeFields(), iniName),
		names(nsxtFields(), iniName), names(balancerFields(), iniName), names(routeFields(), iniName),
		workspaceKeys(), csiKeys(), []string{"scsicontrollertype", "public-network", "soap-roundtripper-count"},
	)
}

// resembles reports whether a word is one of the names, ignoring case and hyphens. A long word may also have a typo, because
// it does not match by chance.
func resembles(word string, all []string) bool {
	const long = 8
	return len(word) >= long && nearest.Of(word, all) != "" || slices.ContainsFunc(all, func(name string) bool { return fold(name) == fold(word) })
}

// readINI returns nil if there is nothing to check further.
func readINI(name string, data []byte, p *problems) *file {
	sections, lost := scanINI(name, data, p)
	if len(sections) == 0 {
		if len(p.list) == 0 {
			p.at(position{file: name}, "", "file is empty")
		}
		return nil
	}
	r := &iniReader{name, p, map[string]int{}}
	f := &file{format: INI, name: name, incomplete: lost, global: endpoint{at: position{file: name, path: "[Global]"}}}
	for _, s := range sections {
		r.section(f, s)
	}
	r.oldForm(f)
	return f
}

func (r *iniReader) section(f *file, s iniSection) {
	at := position{file: r.name, line: s.line, column: s.column, path: s.title()}
	fields := strings.ToLower(s.name)
	unused, foreign := foreignSection(s.name)
	switch {
	case fields == "virtualcenter" && !s.hasSub:
		f.incomplete = true
		r.p.at(at, "", `a vCenter's section has its address or a name in quotes: [VirtualCenter "192.0.2.1"]`)
	case fields == "virtualcenter":
		e := f.vcenter(s.sub, at)
		if !e.server.set {
			e.server.put(s.sub, at) // the section's name, unless the section sets server
		}
		setSection(r, s, at, e, vcenterFields())
	case foreign:
		r.p.add(at, true, map[bool]string{true: "did you mean [NSXT]?"}[fields == "nsx-t"], "%s", unused)
	case fields == "loadbalancerclass" && !s.hasSub:
		r.p.at(at, "", `a class's section has its name in quotes: [LoadBalancerClass "public"]`)
	case fields == "loadbalancerclass":
		setSection(r, s, at, f.classOf(s.sub, at), classFields())
	case s.hasSub && (fields == "global" || fields == "labels" || fields == "nodes" || fields == "nsxt" || fields == "loadbalancer" || fields == "route"):
		r.p.at(at, "", "this section has no second name")
	case fields == "global":
		f.global.at = at
		setSection(r, s, at, &f.global, globalFields())
	case fields == "labels":
		setSection(r, s, at, &f.labels, labelFields())
	case fields == "nodes":
		setSection(r, s, at, &f.nodes, nodeFields())
	case fields == "nsxt":
		f.nsxt.at = at
		setSection(r, s, at, &f.nsxt, nsxtFields())
	case fields == "loadbalancer":
		f.balancers.at = at
		setSection(r, s, at, &f.balancers, balancerFields())
	case fields == "route":
		f.route.at = at
		setSection(r, s, at, &f.route, routeFields())
	default:
		hint := ""
		if best := nearest.Of(s.name, iniSections()); best != "" {
			hint = "did you mean [" + best + "]?"
		}
		f.incomplete = true
		r.p.at(at, hint, "unknown section")
	}
}

// setSection reads the keys of one section, ignoring case.
func setSection[S any](r *iniReader, s iniSection, section position, into *S, fields []field[S]) {
	for _, e := range s.entries {
		key := strings.ToLower(e.key)
		at := position{file: r.name, line: e.line, column: e.column, path: section.path + " " + e.key}
		f, ok := named(fields, iniName, key)
		why, hint, foreign := ForeignKey(key)
		if !ok && !foreign {
			at.path = section.path + " " + e.called()
			r.p.unknown(at, func() string { return unknownHint(e.key, names(fields, iniName), iniFullNames()) })
			continue
		}
		id := strings.ToLower(s.name) + "\x00" + s.sub + "\x00" + key
		if line := r.set[id]; line > 0 {
			r.p.at(at, "", "is already set in line %d", line)
			continue
		}
		r.set[id] = e.line
		if f.into == nil {
			if !ok && !nothingSaidINI(e) {
				r.p.add(at, true, hint, "%s", why)
			} else if !nothingSaidINI(e) {
				r.p.warn(at, "has no effect")
			}
			continue
		}
		dst := f.into(into)
		if _, isBool := dst.(*cell[bool]); e.bare && !isBool {
			r.p.at(at, "", "has no value")
			continue
		}
		if e.bare {
			e.value = "true"
		}
		setText(dst, e.value, at, r.p)
		switch dst := dst.(type) {
		case *cell[string]:
			lintINI(e, isLogin(f.ini), at, r.p)
			if e.escapes {
				dst.hint = `write \\ for a backslash`
			}
			if e.value == "" {
				dst.leftOut(at, emptyHint(e))
			}
		case *cell[[]string]:
			lintINI(e, false, at, r.p)
		}
	}
}

// emptyHint returns why a key without a value may have none, or "".
func emptyHint(e iniEntry) string {
	if e.commented && e.quotes == 0 {
		return `text that begins with # or ; is a comment: write the value in "quotes"`
	}
	return ""
}

// oldForm moves the datacenter of the in-tree provider's old format, which has no vCenter sections, to the vCenter. In the
// other format, that provider ignored the key too.
func (r *iniReader) oldForm(f *file) {
	dc := f.global.datacenter1
	switch {
	case !dc.set:
	case len(f.vcenters) > 0 || f.global.datacenters.set:
		r.p.warn(dc.at, "has no effect")
	default:
		f.global.datacenters.put([]string{dc.value}, dc.at)
	}
}

// title returns the section's header.
func (s iniSection) title() string {
	if s.hasSub {
		return fmt.Sprintf("[%s %q]", s.name, withoutLogin(s.sub))
	}
	return "[" + s.name + "]"
}

// iniFullNames returns the full name of every key by folded name.
func iniFullNames() map[string]string {
	all := map[string]string{}
	for section, keys := range map[string][]string{
		"[Global]": names(globalFields(), iniName), "[Labels]": names(labelFields(), iniName), "[Nodes]": names(nodeFields(), iniName),
		"[LoadBalancer]": names(balancerFields(), iniName),
	} {
		for _, key := range keys {
			all[fold(key)] = section + " " + key
		}
	}
	return all
}

type iniSection struct {
	name, sub    string
	hasSub       bool
	line, column int
	commented    bool // a comment follows on the line
	entries      []iniEntry
}

// iniEntry is one variable. A bare one, without an equals sign, means true.
type iniEntry struct {
	key, value    string
	bare          bool
	commented     bool // a comment follows on the last of its lines
	line, column  int
	afterPassword bool // unknown key that may be the rest of the password before it
	spelling
}

// spelling is how a value is written.
type spelling struct {
	quotes   int  // pairs of quotation marks
	bareText bool // some of it is outside quotes
	glued    bool // a comment follows without a space
	lines    int  // lines that continue it
	escapes  bool // \n or \t stand for another character
	closed   bool // a comment that ends with a quotation mark follows
}

// called returns the key for messages.
func (e iniEntry) called() string {
	if e.afterPassword {
		return "(a word after the password)"
	}
	return e.key
}

// iniScanner splits an INI file as gopkg.in/gcfg.v1 does, which upstream's and the in-tree provider use:
//   - [section] and [section "sub"], the latter with \" and \\ in its name;
//   - key = value; a comment begins with # or ; anywhere outside quotes;
//   - quotes anywhere in a value preserve spaces and comment signs, with the escapes \n, \t, \" and \\;
//   - outside quotes, a backslash may only precede a quote or, to continue the value, the end of a line.
//
// Unlike gcfg, it continues after an error, to find them all.
type iniScanner struct {
	name string
	text []rune
	pos  int
	line int
	bol  int // position of the beginning of the line
	p    *problems
	// afterPassword reports that a line may be the rest of a wrapped password, so that messages must not contain its words.
	afterPassword bool
}

// scanINI returns the readable sections in the order of the file, and whether one is not readable.
func scanINI(name string, data []byte, p *problems) (sections []iniSection, anyLost bool) {
	s := &iniScanner{name: name, text: []rune(strings.ReplaceAll(string(data), "\r\n", "\n")), line: 1, p: p}
	lost := false // the last header is not readable, so the section of the following keys is unknown
	for {
		s.spaces()
		line, column := s.line, s.column()
		switch c := s.peek(); {
		case c == end:
			return sections, anyLost
		case c == '\n':
			s.next()
		case c == '#' || c == ';':
			s.skipLine()
		case c == '[':
			section, ok := s.header()
			lost, anyLost = !ok, anyLost || !ok
			if ok {
				section.line, section.column = line, column
				sections = append(sections, section)
			}
		case unicode.IsLetter(c):
			e, ok := s.entry()
			e.line, e.column = line, column
			switch {
			case !ok || lost:
			case len(sections) == 0:
				s.problem(line, column, "", "%s is before the first section", e.called())
			default:
				last := &sections[len(sections)-1]
				last.entries = append(last.entries, e)
			}
		case s.afterPassword:
			s.problem(line, column, restOfPassword, noKey)
			s.skipLine()
		default:
			s.problem(line, column, "", noKey+", not with %q", c)
			s.skipLine()
		}
	}
}

const (
	noKey          = "a line begins with a [section], a key or a comment"
	restOfPassword = "is it the rest of the password? Write the password on one line, in quotes"
)

// header reads [name] or [name "sub"] and the rest of its line.
func (s *iniScanner) header() (iniSection, bool) {
	line, column := s.line, s.column()
	fail := func(hint, format string, args ...any) (iniSection, bool) {
		s.problem(line, column, hint, format, args...)
		s.skipLine()
		return iniSection{}, false
	}
	s.next()
	s.spaces()
	section := iniSection{name: s.word()}
	if section.name == "" {
		return fail("", "a section has no name")
	}
	called := section.name
	if s.afterPassword && !resembles(called, iniSections()) {
		called = "…"
	}
	s.spaces()
	if s.peek() == '"' {
		s.next()
		var sub strings.Builder
		for s.peek() != '"' {
			c := s.peek()
			if c == end || c == '\n' {
				return fail("", "the quotes of a section's name are not closed")
			}
			s.next()
			if c == '\\' {
				if c = s.peek(); c != '"' && c != '\\' {
					return fail("", `in a section's name, \ may only precede " and \`)
				}
				s.next()
			}
			sub.WriteRune(c)
		}
		s.next()
		section.sub, section.hasSub = sub.String(), true
		if section.sub == "" {
			return fail("", `section [%s ""] has an empty name`, called)
		}
	}
	s.spaces()
	if c := s.peek(); c != ']' {
		hint := ""
		if !section.hasSub && c != end && c != '\n' {
			hint = "a second name needs quotes: [" + called + ` "NAME"]`
		}
		return fail(hint, "section [%s is not closed by ]", called)
	}
	s.next()
	s.spaces()
	if c := s.peek(); c != end && c != '\n' && c != '#' && c != ';' {
		return fail("", "nothing may follow the ] of a section")
	}
	s.afterPassword = false
	section.commented = s.atComment()
	s.skipLine()
	return section, true
}

// entry reads "key = value" or "key", and the rest of its line.
func (s *iniScanner) entry() (iniEntry, bool) {
	e := iniEntry{key: s.word()}
	if e.afterPassword = s.afterPassword && !resembles(e.key, iniKeys()); !e.afterPassword {
		s.afterPassword = nearest.Of(e.key, []string{"password"}) != ""
	}
	s.spaces()
	switch c := s.peek(); c {
	case '=':
		s.next()
		s.spaces()
		var ok bool
		e.value, e.spelling, ok = s.value(e.key)
		e.commented = s.atComment()
		s.skipLine()
		return e, ok
	case end, '\n', '#', ';':
		e.bare, e.commented = true, s.atComment()
		s.skipLine()
		return e, true
	default:
		if e.afterPassword {
			s.problem(s.line, s.column(), restOfPassword, noKey)
			s.skipLine()
			return e, false
		}
		hint := ""
		if c == ':' {
			hint = "is this meant to be YAML?"
		}
		s.problem(s.line, s.column(), hint, "after the key %s comes =, not %q", e.key, c)
		s.skipLine()
		return e, false
	}
}

// value reads to the end of a value: the end of the line, or a comment.
func (s *iniScanner) value(key string) (text string, how spelling, ok bool) {
	var value strings.Builder
	kept := 0 // length of the value without trailing spaces
	line, column := s.line, s.column()
	inQuotes := false
	for {
		c := s.peek()
		switch {
		case c == end || c == '\n':
			if inQuotes {
				s.problem(line, column, "", "the quotes of the value of %s are not closed", key)
				return "", how, false
			}
			return value.String()[:kept], how, true
		case !inQuotes && (c == '#' || c == ';'):
			how.glued = kept > 0 && kept == value.Len()
			how.closed = strings.HasSuffix(strings.TrimSpace(s.restOfLine()), `"`)
			return value.String()[:kept], how, true
		case c == '"':
			s.next()
			if inQuotes = !inQuotes; inQuotes {
				how.quotes++
			}
			kept = value.Len()
			continue
		case c == '\\':
			escaped, ok := s.escape(key, inQuotes)
			if !ok {
				return "", how, false
			}
			switch {
			case !inQuotes && escaped == "":
				how.lines++
			case escaped == "\n", escaped == "\t":
				how.escapes = true
			}
			how.bareText = how.bareText || !inQuotes
			value.WriteString(escaped)
			kept = value.Len()
			continue
		}
		s.next()
		value.WriteRune(c)
		if inQuotes || !isSpace(c) {
			kept = value.Len()
			how.bareText = how.bareText || !inQuotes
		}
	}
}

// escape reads a backslash and the character after it.
func (s *iniScanner) escape(key string, inQuotes bool) (string, bool) {
	line, column := s.line, s.column()
	s.next()
	c := s.peek()
	switch {
	case c == '"' || inQuotes && c == '\\':
		s.next()
		return string(c), true
	case inQuotes && c == 'n':
		s.next()
		return "\n", true
	case inQuotes && c == 't':
		s.next()
		return "\t", true
	case !inQuotes && c == '\n':
		s.next()
		return "", true
	case inQuotes:
		s.problem(line, column, `write \\ for a backslash`, `in the value of %s, \ may only precede n, t, " and \`, key)
	default:
		s.problem(line, column, `write the value in quotes and \\ for a backslash`, `in the value of %s, \ is outside quotes`, key)
	}
	return "", false
}

const end rune = -1

func (s *iniScanner) peek() rune {
	if s.pos == len(s.text) {
		return end
	}
	return s.text[s.pos]
}

// next advances by one rune, unless it is at the end.
func (s *iniScanner) next() {
	if s.pos == len(s.text) {
		return
	}
	if s.text[s.pos] == '\n' {
		s.line++
		s.bol = s.pos + 1
	}
	s.pos++
}

func (s *iniScanner) column() int { return s.pos - s.bol + 1 }

func (s *iniScanner) spaces() {
	for isSpace(s.peek()) {
		s.next()
	}
}

// word reads a name: a letter, then letters, digits and hyphens.
func (s *iniScanner) word() string {
	from := s.pos
	for c := s.peek(); unicode.IsLetter(c) || s.pos > from && (unicode.IsDigit(c) || c == '-'); c = s.peek() {
		s.next()
	}
	return string(s.text[from:s.pos])
}

func (s *iniScanner) atComment() bool { return s.peek() == '#' || s.peek() == ';' }

// restOfLine returns the text up to the end of the line.
func (s *iniScanner) restOfLine() string {
	rest := s.text[s.pos:]
	if i := slices.Index(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	return string(rest)
}

func (s *iniScanner) skipLine() {
	for c := s.peek(); c != end && c != '\n'; c = s.peek() {
		s.next()
	}
}

func (s *iniScanner) problem(line, column int, hint, format string, args ...any) {
	s.p.at(position{file: s.name, line: line, column: column}, hint, format, args...)
}

func isSpace(c rune) bool { return c == ' ' || c == '\t' || c == '\r' }
