package main

import (
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// word is one entry of words.yaml.
type word struct {
	Word, Write, Why string
	Except           []string // files in which the word is a name

	match *regexp.Regexp
}

func (w *word) compile() error {
	if w.Write == "" || w.Why == "" {
		return fmt.Errorf("%q: what to write instead, and why, is missing", w.Word)
	}
	var err error
	w.match, err = regexp.Compile(`(?i)\b(` + w.Word + `)\b`)
	return err
}

// find returns the places of text where the word is written. A part of a name with hyphens, such as a kind of event, is none.
func (w *word) find(file, text string) (hits []string) {
	if slices.Contains(w.Except, file) {
		return nil
	}
	for _, at := range w.match.FindAllStringIndex(text, -1) {
		before, after := strings.HasSuffix(text[:at[0]], "-"), strings.HasPrefix(text[at[1]:], "-")
		if !before && !after {
			hits = append(hits, text[at[0]:at[1]])
		}
	}
	return hits
}

// line is text for people, at a line of a file.
type line struct {
	number int
	text   string
}

// reader returns what finds text for people in a file of this name, or nil for a file that has none.
func reader(name string) func(name string, data []byte) ([]line, error) {
	switch ext := path.Ext(name); {
	case strings.HasPrefix(name, "hack/words/"), strings.HasPrefix(name, "docs/releases/"), strings.Contains(name, "/testdata/wild/"):
		return nil // this list itself; history; other people's files
	case ext == ".go":
		return goText
	case ext == ".md":
		return pageText
	case ext == ".golden":
		return allText
	case ext == ".yaml", ext == ".yml", path.Base(name) == "Makefile", ext == ".sh", strings.HasPrefix(name, ".ci/"):
		return hashText
	}
	return nil
}

// spaced returns the words of an identifier: "wasTold" is "was Told".
func spaced(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// goText returns comments, identifiers and, but for tests, what string literals hold.
func goText(name string, data []byte) ([]line, error) {
	var (
		s     scanner.Scanner
		errs  scanner.ErrorList
		lines []line
	)
	fset := token.NewFileSet()
	file := fset.AddFile(name, -1, len(data))
	s.Init(file, data, func(pos token.Position, msg string) { errs.Add(pos, msg) }, scanner.ScanComments)
	test := strings.HasSuffix(name, "_test.go")
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.IDENT {
			lines = append(lines, line{fset.Position(pos).Line, spaced(lit)})
		}
		if tok == token.COMMENT && !strings.HasPrefix(lit, "//go:") && !strings.HasPrefix(lit, "//nolint") || tok == token.STRING && !test {
			first := fset.Position(pos).Line
			for i, text := range strings.Split(lit, "\n") {
				lines = append(lines, line{first + i, text})
			}
		}
	}
	return lines, errs.Err()
}

// pageText returns the text of a page, without its code.
func pageText(_ string, data []byte) ([]line, error) {
	var lines []line
	code := false
	// Code, links to a file that is named after an identifier, and targets of links have no words of their author.
	inline := regexp.MustCompile("`[^`]*`|\\[[*]*[a-z0-9]+(-[a-z0-9]+)+[*]*\\]\\([^)]*\\)|\\]\\([^)]*\\)")
	scan(data, func(number int, text string) {
		if strings.HasPrefix(strings.TrimSpace(text), "```") {
			code = !code
		} else if !code {
			lines = append(lines, line{number, inline.ReplaceAllString(text, "``")})
		}
	})
	if code {
		return nil, errors.New("a block of code has no end")
	}
	return lines, nil
}

// hashText returns comments that begin with "#", and the descriptions of scenarios.
func hashText(_ string, data []byte) ([]line, error) {
	var lines []line
	comment := regexp.MustCompile(`(^|\s)#.*|^\s*(- )?(description|title|why|note|summary):.*`)
	scan(data, func(number int, text string) {
		if found := comment.FindString(text); found != "" {
			lines = append(lines, line{number, found})
		}
	})
	return lines, nil
}

func allText(_ string, data []byte) ([]line, error) {
	var lines []line
	scan(data, func(number int, text string) { lines = append(lines, line{number, text}) })
	return lines, nil
}
