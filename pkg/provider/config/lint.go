package config

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// The linter finds values that a reader has understood differently from what their author meant: YAML and INI give quotes,
// backslashes and comment signs a meaning that passwords do not expect. What certainly cannot be meant is an error; the rest
// is a warning with [Problem.Suspect].

// isLogin reports whether a key, by its name in either format, is one of those that a vCenter refuses as a whole.
func isLogin(key string) bool { return key == "user" || key == "password" || key == "server" }

// isPEM reports whether a value is a certificate or a key instead of a name or a password; these have several lines.
func isPEM(text string) bool { return strings.HasPrefix(text, "-----BEGIN ") }

// checkLogin reports control characters in the values that make up a login.
func (e *endpoint) checkLogin(p *problems) {
	for _, v := range []struct {
		cell[string]
		secret bool
	}{{e.server, false}, {e.user, false}, {e.password, true}} {
		if !v.good() || isPEM(v.value) {
			continue
		}
		if found := controlCharacter(v.value, v.secret); found != "" {
			p.at(v.at, v.hint, "has %s", found)
		}
	}
}

// controlCharacter describes the first control character of a value, or returns "". It includes what precedes it unless
// the value is secret.
func controlCharacter(text string, secret bool) string {
	i := strings.IndexFunc(text, isControl)
	if i < 0 {
		return ""
	}
	r, _ := utf8.DecodeRuneInString(text[i:])
	named := map[rune]string{'\n': "a line break", '\r': "a carriage return", '\t': "a tab", 0: "a NUL character"}[r]
	named = cmp.Or(named, "a control character")
	named = fmt.Sprintf("%s (%U)", named, r)
	switch {
	case secret:
		return named
	case i == 0:
		return named + " at its beginning"
	}
	return fmt.Sprintf("%s after %q", named, text[:i])
}

func isControl(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// bothEnds returns the quotation mark that a value begins and ends with, or 0.
func bothEnds(text string) byte {
	if n := len(text); n > 1 && (text[0] == '\'' || text[0] == '"') && text[n-1] == text[0] {
		return text[0]
	}
	return 0
}

// suspect warns that a value may not be what its author meant.
func (p *problems) suspect(at position, hint, format string, args ...any) {
	p.add(at, true, hint, format, args...)
	p.list[len(p.list)-1].Suspect = true
}

// yamlSource is what the nodes of a YAML document do not have: the text that they were read from.
type yamlSource struct {
	lines [][]rune
	// used are the anchors that something refers to.
	used map[*yaml.Node]bool
}

func newYAMLSource(data []byte, root *yaml.Node) yamlSource {
	s := yamlSource{used: map[*yaml.Node]bool{}}
	for line := range strings.SplitSeq(string(data), "\n") {
		s.lines = append(s.lines, []rune(line))
	}
	var visit func(*yaml.Node)
	visit = func(n *yaml.Node) {
		if n.Kind == yaml.AliasNode {
			s.used[n.Alias] = true
		}
		for _, c := range n.Content {
			visit(c)
		}
	}
	visit(root)
	return s
}

// begins reports whether a node begins with the text.
func (s yamlSource) begins(n *yaml.Node, text string) bool {
	if n.Line < 1 || n.Line > len(s.lines) || n.Column < 1 || n.Column > len(s.lines[n.Line-1]) {
		return false
	}
	return strings.HasPrefix(string(s.lines[n.Line-1][n.Column-1:]), text)
}

// quoteOf returns the quotation mark around a scalar, or "".
func quoteOf(n *yaml.Node) string {
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		return `"`
	case n.Style&yaml.SingleQuotedStyle != 0:
		return "'"
	}
	return ""
}

// raw returns what stands between the double quotes of a scalar; "" if they are not found.
func (s yamlSource) raw(n *yaml.Node) string {
	var b strings.Builder
	open := false
	for i := n.Line - 1; i >= 0 && i < len(s.lines); i++ {
		line := s.lines[i]
		for k := 0; k < len(line); k++ {
			switch c := line[k]; {
			case i == n.Line-1 && k < n.Column-1:
			case !open:
				open = c == '"'
			case c == '"':
				return b.String()
			case c == '\\' && k+1 < len(line):
				b.WriteRune(c)
				k++
				b.WriteRune(line[k])
			default:
				b.WriteRune(c)
			}
		}
		if open {
			b.WriteByte('\n')
		}
	}
	return ""
}

// yamlEscape returns the first escape of a double-quoted text that is neither a backslash nor a quotation mark, or "".
func yamlEscape(raw string) string {
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		if c := raw[i]; c != '\\' && c != '"' && c != '\n' {
			r, _ := utf8.DecodeRuneInString(raw[i:])
			return `\` + string(r)
		}
	}
	return ""
}

const quoteIt = "write the value in single quotes"

// asMeant returns how a value is written in single quotes; without it if it is secret.
func asMeant(value, key string) string {
	if key == "password" || strings.ContainsFunc(value, isControl) {
		return quoteIt
	}
	return "write '" + strings.ReplaceAll(value, "'", "''") + "'"
}

// text returns the value of a scalar for a text cell, and how to write it if it has control characters. It warns about what
// YAML made of it.
func (r *yamlReader) text(e entry) (value, hint string) {
	n := e.value
	value = n.Value
	key := e.key
	block := n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	if block && !isPEM(value) {
		if kept, ended := strings.CutSuffix(value, "\n"); ended {
			value, hint = kept, "write it on the line of its key"
			r.p.suspect(e.at, hint, "is a block that ends with a line break, which is left out here and not by upstream's provider")
		}
	}
	if !isLogin(key) {
		return value, hint
	}
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		raw := r.source.raw(n)
		escape := yamlEscape(raw)
		if escape == "" {
			break
		}
		hint = asMeant(raw, key)
		if !strings.ContainsFunc(value, isControl) {
			r.p.suspect(e.at, hint, "%s in double quotes is an escape of YAML and stands for another character", escape)
		}
	case block, n.Style&yaml.SingleQuotedStyle != 0:
	case n.LineComment != "":
		r.p.suspect(e.at, "if # belongs to the value, "+quoteIt, "ends before the # of a comment")
	}
	if mark := quoteOf(n); mark != "" && strings.HasSuffix(strings.TrimSpace(n.LineComment), mark) {
		r.p.suspect(e.at, "if the rest belongs to the value, "+quoteIt, "ends before a comment that ends with %s", mark)
	}
	if n.Style&yaml.TaggedStyle != 0 && n.ShortTag() != "!!str" || r.source.begins(n, "! ") {
		r.p.suspect(e.at, "if ! belongs to the value, "+quoteIt, "begins after a tag: YAML takes a word with ! at its beginning as one")
	}
	if n.Anchor != "" && !r.source.used[n] {
		r.p.suspect(e.at, "if & belongs to the value, "+quoteIt, "begins after an anchor: YAML takes a word with & at its beginning as one")
	}
	if c := bothEnds(value); c != 0 {
		r.p.suspect(e.at, "leave the inner ones out", "has %c at both ends as a part of the value", c)
	}
	return value, hint
}

// whyNothing returns why the scalar of a key that was written has no value, as a hint, or "".
func whyNothing(e entry) string {
	n := e.value
	switch {
	case n.Style&yaml.TaggedStyle != 0:
		return "text that begins with ! is a tag of YAML: " + quoteIt
	case n.Anchor != "":
		return "text that begins with & is an anchor of YAML: " + quoteIt
	case n.LineComment != "" || e.comment != "":
		return "text that begins with # is a comment: " + quoteIt
	case n.Value != "":
		return n.Value + " stands for nothing in YAML: " + quoteIt
	}
	return ""
}

// lintINI warns about what the INI syntax made of a value. login reports that the value is part of a login.
func lintINI(e iniEntry, login bool, at position, p *problems) {
	const whole = `if it belongs to the value, write the whole value in "quotes"`
	switch {
	case e.quotes == 0 && bothEnds(e.value) == '\'':
		p.suspect(at, `INI has only "quotes": write these, or none`, "has ' at both ends as a part of the value")
	case e.quotes > 1 || e.quotes == 1 && e.bareText:
		if login {
			p.suspect(at, `write the whole value in "quotes", and \" for a quotation mark`, "has quotation marks in it, which are left out")
		}
	}
	switch {
	case e.commented && e.bareText && (login || e.glued):
		p.suspect(at, whole, "ends before the comment sign that follows")
	case login && e.quotes > 0 && e.closed:
		p.suspect(at, `if the rest belongs to the value, write \" for each quotation mark in it`, "ends before a comment that ends with a quotation mark")
	}
	if e.lines > 0 && login {
		p.suspect(at, `if the backslash belongs to the value, write the whole value in "quotes", and \\ for it`, "continues in the next line, because its line ends with a backslash")
	}
}
