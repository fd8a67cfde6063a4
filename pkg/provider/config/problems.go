package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// problem is one thing wrong, at a line; 0 when it has none.
type problem struct {
	line int
	text string
}

// problems collects everything that is wrong with a file.
type problems struct {
	list []problem
	at   map[string]int // line of each key, by its dotted path
}

func (p *problems) add(line int, format string, args ...any) {
	p.list = append(p.list, problem{line, fmt.Sprintf(format, args...)})
}

// key adds a problem with the value at a dotted path; when the key is absent, at the nearest one above it.
func (p *problems) key(path, format string, args ...any) {
	line := 0
	for at := path; line == 0 && at != ""; {
		line = p.at[at]
		i := strings.LastIndexByte(at, '.')
		at = at[:max(i, 0)]
	}
	p.add(line, "%s: %s", path, fmt.Sprintf(format, args...))
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)

// yaml adds what the YAML decoder says.
func (p *problems) yaml(err error) {
	for _, msg := range asTypeError(err) {
		if m := yamlLine.FindStringSubmatch(msg); m != nil {
			line, _ := strconv.Atoi(m[1])
			p.add(line, "%s", m[2])
			continue
		}
		p.add(0, "%s", strings.TrimPrefix(msg, "yaml: "))
	}
}

// lines returns the problems in the order of the file, as "LINE: text".
func (p *problems) lines() []string {
	slices.SortStableFunc(p.list, func(a, b problem) int { return cmp.Compare(a.line, b.line) })
	var lines []string
	for _, x := range p.list {
		if x.line == 0 {
			lines = append(lines, " "+x.text)
			continue
		}
		lines = append(lines, fmt.Sprintf("%d: %s", x.line, x.text))
	}
	return lines
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
