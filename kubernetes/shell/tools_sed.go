package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// sed knows -n, -E, -i, -e, and the commands s, p, d and q with an address that is a line number, $ or a pattern.
func sed(ctx context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(args, "nErsi", "e", map[string]byte{"quiet": 'n', "expression": 'e', "in-place": 'i', "regexp-extended": 'E'})
	if !ok {
		return 1
	}
	text, given := set['e']
	if !given {
		if len(operands) == 0 {
			fmt.Fprintln(pr.stderr, "sed: a script is missing")
			return 1
		}
		text, operands = operands[0], operands[1:]
	}
	edits, err := parseEdits(text, has(set, 'E') || has(set, 'r'))
	if err != nil {
		return pr.fail("sed", err)
	}
	edit := func(out io.Writer) func(string, io.Reader) error {
		return func(_ string, r io.Reader) error {
			n := 0
			err := lines(ctx, r, func(line []byte) error {
				n++
				return edits.apply(out, line, n, !has(set, 'n'))
			})
			if stopped(err) {
				return nil
			}
			return err
		}
	}
	if !has(set, 'i') {
		return pr.inputs("sed", operands, edit(pr.stdout))
	}
	code := 0
	for _, name := range operands {
		var held strings.Builder
		bounded := writerFunc(func(b []byte) (int, error) {
			if held.Len()+len(b) > holdBytes {
				return 0, errTooLong
			}
			return held.Write(b)
		})
		err := pr.input(name, edit(bounded))
		if err == nil {
			var f io.WriteCloser
			if f, err = pr.create(name, false); err == nil {
				_, err = io.WriteString(f, held.String())
				err = errors.Join(err, f.Close())
			}
		}
		if err != nil {
			code = pr.fail("sed", err)
		}
	}
	return code
}

// edit is one command of sed.
type edit struct {
	line        int
	pattern     *regexp.Regexp
	command     byte
	find        *regexp.Regexp
	replacement string
	all, print  bool
}

type edits []edit

func parseEdits(text string, extended bool) (edits, error) {
	compile := func(p string, flags string) (*regexp.Regexp, error) {
		if !extended {
			p = basicPattern(p)
		}
		if strings.ContainsAny(flags, "iI") {
			p = "(?i)" + p
		}
		return regexp.Compile(p)
	}
	var all edits
	for rest := strings.TrimLeft(text, " \t\n;"); rest != ""; rest = strings.TrimLeft(rest, " \t\n;") {
		var e edit
		if n := len(rest) - len(strings.TrimLeft(rest, "0123456789")); n > 0 {
			e.line, _ = strconv.Atoi(rest[:n])
			rest = rest[n:]
		} else if rest[0] == '/' {
			pattern, after, ok := delimited(rest[1:], '/')
			if !ok {
				return nil, fmt.Errorf("unterminated address: %s", text)
			}
			re, err := compile(pattern, "")
			if err != nil {
				return nil, err
			}
			e.pattern, rest = re, after
		}
		rest = strings.TrimLeft(rest, " ")
		if rest == "" {
			return nil, fmt.Errorf("missing command: %s", text)
		}
		e.command, rest = rest[0], rest[1:]
		switch e.command {
		case 'p', 'd', 'q':
		case 's':
			if rest == "" {
				return nil, fmt.Errorf("unterminated s command: %s", text)
			}
			separator := rest[0]
			pattern, after, ok := delimited(rest[1:], separator)
			replacement, flags, ok2 := delimited(after, separator)
			if !ok || !ok2 {
				return nil, fmt.Errorf("unterminated s command: %s", text)
			}
			n := len(flags) - len(strings.TrimLeft(flags, "gpiI"))
			re, err := compile(pattern, flags[:n])
			if err != nil {
				return nil, err
			}
			e.find, e.replacement = re, replacement
			e.all, e.print = strings.Contains(flags[:n], "g"), strings.Contains(flags[:n], "p")
			rest = flags[n:]
		default:
			return nil, fmt.Errorf("unsupported command '%c': %s", e.command, text)
		}
		all = append(all, e)
	}
	return all, nil
}

// delimited cuts a text at a separator that is not escaped.
func delimited(s string, separator byte) (before, after string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			if s[i+1] != separator {
				b.WriteByte('\\')
			}
			i++
			b.WriteByte(s[i])
		case s[i] == separator:
			return b.String(), s[i+1:], true
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}

func (all edits) apply(out io.Writer, line []byte, n int, print bool) error {
	text := string(line)
	quit := false
	for _, e := range all {
		if e.line != 0 && e.line != n || e.pattern != nil && !e.pattern.MatchString(text) {
			continue
		}
		switch e.command {
		case 'd':
			return nil
		case 'q':
			quit = true
		case 'p':
			fmt.Fprintln(out, text)
		case 's':
			replaced := e.replace(text)
			if replaced != text && e.print {
				fmt.Fprintln(out, replaced)
			}
			text = replaced
		}
		if len(text) > lineBytes {
			return errTooLong
		}
	}
	if print {
		if _, err := fmt.Fprintln(out, text); err != nil {
			return err
		}
	}
	if quit {
		return errStop
	}
	return nil
}

// replace replaces what the pattern finds: & is all of it, \1 a group.
func (e *edit) replace(text string) string {
	var b strings.Builder
	at := 0
	for _, m := range e.find.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(text[at:m[0]])
		for i := 0; i < len(e.replacement) && b.Len() <= lineBytes; i++ {
			c := e.replacement[i]
			switch {
			case c == '&':
				b.WriteString(text[m[0]:m[1]])
			case c == '\\' && i+1 < len(e.replacement):
				i++
				if group := int(e.replacement[i] - '0'); group >= 0 && group <= 9 {
					if 2*group+1 < len(m) && m[2*group] >= 0 {
						b.WriteString(text[m[2*group]:m[2*group+1]])
					}
				} else if e.replacement[i] == 'n' {
					b.WriteByte('\n')
				} else {
					b.WriteByte(e.replacement[i])
				}
			default:
				b.WriteByte(c)
			}
		}
		at = m[1]
		if !e.all {
			break
		}
	}
	b.WriteString(text[at:])
	return b.String()
}
