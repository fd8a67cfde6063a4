package pane

import "strings"

// yamlLines are the lines of a YAML document: keys, and what is a comment, look so.
func yamlLines(doc string) []line {
	var lines []line
	inside := -1 // the indentation of the key whose block of text it is
	for s := range strings.SplitSeq(strings.TrimRight(doc, "\n"), "\n") {
		trimmed := strings.TrimLeft(s, " ")
		indent := len(s) - len(trimmed)
		if inside >= 0 && (trimmed == "" || indent > inside) {
			lines = append(lines, of(s, plain))
			continue
		}
		inside = -1
		if strings.HasPrefix(trimmed, "#") {
			lines = append(lines, of(s, dim))
			continue
		}
		var l line
		rest := trimmed
		for strings.HasPrefix(rest, "- ") {
			rest = rest[2:]
		}
		l.add(s[:len(s)-len(rest)], dim)
		if end := keyEnd(rest); end > 0 {
			l.add(rest[:end], field)
			l.add(":", dim)
			value := rest[end+1:]
			l.add(value, plain)
			if v := strings.TrimSpace(value); strings.HasPrefix(v, "|") || strings.HasPrefix(v, ">") {
				inside = indent
			}
		} else {
			l.add(rest, plain)
		}
		lines = append(lines, l)
	}
	return lines
}

// keyEnd is where the key ends that a line begins with; 0 for none.
func keyEnd(s string) int {
	if s == "" {
		return 0
	}
	from := 0
	if q := s[0]; q == '"' || q == '\'' {
		i := strings.IndexByte(s[1:], q)
		if i < 0 {
			return 0
		}
		from = i + 2
	} else if s[0] == '{' || s[0] == '[' {
		return 0
	}
	i := strings.IndexByte(s[from:], ':')
	for i >= 0 {
		end := from + i
		if end+1 == len(s) || s[end+1] == ' ' {
			if s[0] == '"' || s[0] == '\'' {
				if i > 0 {
					return 0 // a quoted text that goes on
				}
			}
			return end
		}
		next := strings.IndexByte(s[end+1:], ':')
		if next < 0 {
			return 0
		}
		i += 1 + next
	}
	return 0
}
