package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// errStop ends a walk over lines before the end of input.
var errStop = errors.New("stop")

// basicPattern turns a basic regular expression into an extended one.
func basicPattern(p string) string {
	var b strings.Builder
	class := false
	for i := 0; i < len(p); i++ {
		c := p[i]
		switch {
		case class:
			class = c != ']'
			b.WriteByte(c)
		case c == '[':
			class = true
			b.WriteByte(c)
			for _, first := range []string{"^", "]"} {
				if strings.HasPrefix(p[i+1:], first) {
					b.WriteString(first)
					i++
				}
			}
		case c == '\\' && i+1 < len(p):
			i++
			if strings.IndexByte("(){}|+?", p[i]) < 0 {
				b.WriteByte('\\')
			}
			b.WriteByte(p[i])
		case strings.IndexByte("(){}|+?", c) >= 0, c == '*' && (i == 0 || p[i-1] == '('):
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func grep(ctx context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(args, "EFGHhilnoqrRsvwxca", "em", map[string]byte{
		"extended-regexp": 'E', "fixed-strings": 'F', "ignore-case": 'i', "quiet": 'q', "silent": 'q', "invert-match": 'v', "count": 'c',
		"line-number": 'n', "only-matching": 'o', "files-with-matches": 'l', "word-regexp": 'w', "line-regexp": 'x', "regexp": 'e', "no-messages": 's', "max-count": 'm',
	})
	if !ok {
		return exitUsage
	}
	pattern, given := set['e']
	if !given {
		if len(operands) == 0 {
			fmt.Fprintln(pr.stderr, "grep: a pattern is missing")
			return exitUsage
		}
		pattern, operands = operands[0], operands[1:]
	}
	switch {
	case has(set, 'F') || args[0] == "fgrep":
		pattern = regexp.QuoteMeta(pattern)
	case !has(set, 'E') && args[0] != "egrep":
		pattern = basicPattern(pattern)
	}
	if has(set, 'w') {
		pattern = `\b(?:` + pattern + `)\b`
	}
	if has(set, 'x') {
		pattern = `^(?:` + pattern + `)$`
	}
	if has(set, 'i') {
		pattern = `(?i)` + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		pr.fail("grep", err)
		return exitUsage
	}
	most := int64(-1)
	if v, ok := set['m']; ok {
		if most, err = count(v); err != nil {
			pr.fail("grep", err)
			return exitUsage
		}
	}
	if has(set, 'r') || has(set, 'R') {
		operands = pr.filesBelow(ctx, operands)
	}
	prefix := (len(operands) > 1 || has(set, 'H')) && !has(set, 'h')
	found := false
	code := 0
	if len(operands) == 0 {
		operands = []string{"-"}
	}
	for _, name := range operands {
		number, matched := 0, int64(0)
		err := pr.input(name, func(_ string, r io.Reader) error {
			return lines(ctx, r, func(line []byte) error {
				number++
				if re.Match(line) == has(set, 'v') {
					return nil
				}
				matched++
				if has(set, 'q') || has(set, 'l') {
					return errStop
				}
				if !has(set, 'c') {
					shown := [][]byte{line}
					if has(set, 'o') && !has(set, 'v') {
						shown = re.FindAll(line, -1)
					}
					for _, s := range shown {
						if prefix {
							fmt.Fprintf(pr.stdout, "%s:", name)
						}
						if has(set, 'n') {
							fmt.Fprintf(pr.stdout, "%d:", number)
						}
						fmt.Fprintf(pr.stdout, "%s\n", s)
					}
				}
				if matched == most {
					return errStop
				}
				return nil
			})
		})
		if err != nil && !stopped(err) {
			if !has(set, 's') {
				pr.fail("grep", err)
			}
			code = exitUsage
		}
		found = found || matched > 0
		switch {
		case has(set, 'q'):
		case has(set, 'l') && matched > 0:
			fmt.Fprintln(pr.stdout, name)
		case has(set, 'c') && prefix:
			fmt.Fprintf(pr.stdout, "%s:%d\n", name, matched)
		case has(set, 'c'):
			fmt.Fprintln(pr.stdout, matched)
		}
	}
	if code == 0 && !found {
		return 1
	}
	if found && has(set, 'q') {
		return 0
	}
	return code
}

func stopped(err error) bool { return errors.Is(err, errStop) }
