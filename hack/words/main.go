// Command words finds words that this project does not use (words.yaml lists them, with what to write instead) in names, comments
// and messages of Go code, in comments of YAML files, in pages, and in golden help texts.
//
//	go run ./hack/words              the whole tree
//	go run ./hack/words docs pkg/sim these folders and files
//
// It prints one finding a line, "file:line: word: write …", and exits with 1 if there are any.
//
// Floor 5.
package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

//go:embed words.yaml
var listed []byte

func main() {
	flag.Parse()
	found, err := check(os.Stdout, ".", flag.Args())
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(2)
	case found > 0:
		fmt.Fprintf(os.Stderr, "words: %d findings: hack/words/words.yaml gives the reasons\n", found)
		os.Exit(1)
	}
}

// check prints the findings in those of dir's files, as git lists them, that paths name, and returns their number. No paths
// means all files.
func check(w io.Writer, dir string, paths []string) (int, error) {
	words, err := parse(listed)
	if err != nil {
		return 0, err
	}
	cmd := exec.Command("git", append([]string{"ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"}, paths...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("git ls-files: %w", err)
	}
	found := 0
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		read := reader(name)
		if read == nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		} else if err != nil {
			return 0, err
		}
		lines, err := read(name, data)
		if err != nil {
			return 0, err
		}
		for _, l := range lines {
			for _, word := range words {
				for _, hit := range word.find(name, l.text) {
					fmt.Fprintf(w, "%s:%d: %q: write %s\n", name, l.number, hit, word.Write)
					found++
				}
			}
		}
	}
	return found, nil
}

// parse reads the list of words.
func parse(data []byte) ([]word, error) {
	var words []word
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&words); err != nil {
		return nil, fmt.Errorf("words.yaml: %w", err)
	}
	for i := range words {
		if err := words[i].compile(); err != nil {
			return nil, fmt.Errorf("words.yaml: %w", err)
		}
	}
	return words, nil
}

// scan calls each with the lines of data.
func scan(data []byte, each func(number int, text string)) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		each(n, lines.Text())
	}
}

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
