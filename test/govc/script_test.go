package govc

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// step is a command and what is expected of it.
type step struct {
	path    string
	line    int
	command string
	stdin   string
	exit    int
	stock   int // the exit code of stock vcsim, -1: the same
	wants   []want
}

// want is one expectation of a command's output, or an action on it.
type want struct {
	line  int
	kind  byte // ' ' a line matches, '-' none does, '<' a variable is taken from one, '#' so many lines there are
	name  string
	count int
	late  string // a pattern with $VARIABLES still in it
}

// parse reads a session.
func parse(t *testing.T, path string) []step {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var steps []step
	for i, line := range strings.Split(string(text), "\n") {
		n := i + 1
		kind, rest, _ := strings.Cut(line, " ")
		switch {
		case strings.TrimSpace(line) == "" || kind == "#":
			continue
		case kind == "$":
			steps = append(steps, step{path: path, line: n, command: rest, stock: -1})
			continue
		case len(steps) == 0:
			t.Fatalf("%s:%d: no command yet", path, n)
		}
		s := &steps[len(steps)-1]
		var err error
		switch kind {
		case "exit":
			s.exit, err = strconv.Atoi(rest)
		case "stock":
			s.stock, err = strconv.Atoi(rest)
		case "stdin":
			s.stdin += rest + "\n"
		case "lines":
			w := want{line: n, kind: '#'}
			w.count, err = strconv.Atoi(rest)
			s.wants = append(s.wants, w)
		case "set":
			name, pattern, _ := strings.Cut(rest, " ")
			s.wants = append(s.wants, want{line: n, kind: '<', name: name, late: pattern})
		case "no":
			s.wants = append(s.wants, want{line: n, kind: '-', late: rest})
		case "":
			s.wants = append(s.wants, want{line: n, kind: ' ', late: strings.TrimPrefix(line, "  ")})
		default:
			err = fmt.Errorf("unknown word %q", kind)
		}
		if err != nil {
			t.Fatalf("%s:%d: %v", path, n, err)
		}
	}
	return steps
}

// check compares the output of a step with what is wanted, and takes variables out of it.
func (s step) check(output string, variables map[string]string) error {
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	if output == "" {
		lines = nil
	}
	at := 0 // lines are wanted in order
	for _, w := range s.wants {
		if w.kind == '#' {
			if len(lines) != w.count {
				return fmt.Errorf("line %d: %d lines of output, want %d", w.line, len(lines), w.count)
			}
			continue
		}
		pattern, err := regexp.Compile("^" + os.Expand(w.late, func(name string) string {
			if v, ok := variables[name]; ok {
				return regexp.QuoteMeta(v)
			}
			return "$" + name // the end of a line
		}) + "$")
		if err != nil {
			return fmt.Errorf("line %d: %w", w.line, err)
		}
		found := -1
		from := at
		if w.kind != ' ' {
			from = 0
		}
		var match []string
		for i := from; i < len(lines); i++ {
			if match = pattern.FindStringSubmatch(strings.TrimRight(lines[i], " \t\r")); match != nil {
				found = i
				break
			}
		}
		switch {
		case w.kind == '-':
			if found >= 0 {
				return fmt.Errorf("line %d: there is %q", w.line, lines[found])
			}
			continue
		case found < 0:
			return fmt.Errorf("line %d: no line (from output line %d) matches %s", w.line, from+1, pattern)
		case w.kind == '<':
			variables[w.name] = match[len(match)-1]
		default:
			at = found + 1
		}
	}
	return nil
}
