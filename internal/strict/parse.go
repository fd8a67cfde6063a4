package strict

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

// Parse returns the node of the only document in the text, or nil, with the reason reported, if the text cannot be decoded.
func (r *Reader) Parse(data []byte) *yaml.Node {
	if len(data) > r.lang.Size {
		r.TooLong()
		return nil
	}
	if !r.readable(data) || r.lang.Kind != "" && r.foreign(data) {
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF), err == nil && IsNull(document.Content[0]):
		r.text(1, 1, "is empty: a %s begins with apiVersion: %s and kind: %s", r.lang.Noun, r.lang.APIVersion, r.lang.Kind)
		return nil
	case err != nil:
		r.syntax(data, err)
		return nil
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		r.text(second.Line, second.Column, "a second document begins here: a %s file holds one", r.lang.Noun)
	case !errors.Is(err, io.EOF):
		r.syntax(data, err)
	}
	move(document.Content[0], r.Base)
	return document.Content[0]
}

// move adds to the lines of a node.
func move(node *yaml.Node, lines int) {
	if lines == 0 {
		return
	}
	node.Line += lines
	for _, inner := range node.Content {
		move(inner, lines)
	}
}

// TooLong reports a file that is longer than it may be.
func (r *Reader) TooLong() {
	r.text(1, 1, "is longer than the %s a %s may have", input.Size(int64(r.lang.Size)), r.lang.Noun)
}

// text reports an error at a place in the text.
func (r *Reader) text(line, column int, format string, args ...any) {
	r.Add(Error{Line: r.Base + line, Column: column, Message: fmt.Sprintf(format, args...)})
}

// readable reports bytes that no YAML may have, which the parser would refuse without saying where.
func (r *Reader) readable(data []byte) bool {
	if what, hint := Encoding(data); hint != "" {
		r.text(1, 1, "%s: %s", what, hint)
		return false
	}
	for at := 0; at < len(data); {
		c, size := utf8.DecodeRune(data[at:])
		var what string
		switch {
		case c == utf8.RuneError && size == 1:
			what = "is not UTF-8 text"
		case c < ' ' && c != '\t' && c != '\n' && c != '\r', c >= 0x7f && c < 0xa0 && c != 0x85:
			what = fmt.Sprintf("holds the control character %U", c)
		default:
			at += size
			continue
		}
		line := bytes.Count(data[:at], []byte("\n"))
		column := at - bytes.LastIndexByte(data[:at], '\n')
		r.text(line+1, column, "%s", what)
		return false
	}
	return true
}

// syntax reports the parser's error.
func (r *Reader) syntax(data []byte, err error) {
	line, message := Syntax(data, err.Error())
	line = max(line, 1)
	if at, ok := tabbed(data, line); ok {
		r.text(line, at, "is not YAML: indented with a tab, where YAML takes spaces only")
		return
	}
	column, advice := unquoted(lineOf(data, line))
	r.text(line, column, "is not YAML: %s%s", message, advice)
}

// bare finds what YAML takes for syntax: a parameter or a number of replicas without quotes, and a key whose colon has no space
// behind it.
var (
	bare    = regexp.MustCompile(`[\w.-]*(\$?\{[A-Za-z][\w-]*\})(?:[\w.-]|\$?\{[A-Za-z][\w-]*\})*`)
	noSpace = regexp.MustCompile(`^\s*(?:- +)?([A-Za-z]+):([^\s/:][^:]*)$`)
)

// unquoted finds in a line what most probably keeps it from being YAML, and returns its column and the advice; 1 and "" if it
// finds nothing.
func unquoted(line []byte) (column int, advice string) {
	for _, at := range bare.FindAllSubmatchIndex(line, -1) {
		before, word := line[:at[0]], line[at[0]:at[1]]
		if bytes.Count(before, []byte(`"`))%2 == 1 || bytes.Count(before, []byte("'"))%2 == 1 {
			continue // it has quotes
		}
		what := "a name with {n}"
		if line[at[2]] == '$' {
			what = "a parameter"
		}
		return at[0] + 1, fmt.Sprintf(" (inside {…} and […], %s needs quotes: \"%s\")", what, word)
	}
	if at := noSpace.FindSubmatchIndex(line); at != nil {
		return at[4], fmt.Sprintf(" (a colon needs a space after it: \"%s: %s\")", line[at[2]:at[3]], bytes.TrimSpace(line[at[4]:at[5]]))
	}
	return 1, ""
}

// Syntax splits a message of the YAML parser ("yaml: line 3: did not find …") into its line, 0 where it has none, and the
// rest. It corrects the line of those messages for which the parser counts from 0.
func Syntax(data []byte, message string) (line int, rest string) {
	rest = strings.TrimPrefix(message, "yaml: ")
	if after, ok := strings.CutPrefix(rest, "line "); ok {
		number, tail, _ := strings.Cut(after, ": ")
		if n, err := strconv.Atoi(number); err == nil {
			line, rest = n, tail
		}
	}
	if countsFromZero(rest) {
		line = min(line+1, 1+bytes.Count(bytes.TrimRight(data, " \t\r\n"), []byte("\n")))
	}
	return line, rest
}

// countsFromZero reports whether the message is one of those for which yaml.v3 counts lines from 0, and names none for the
// first: the ones of its parser, not those of its scanner.
func countsFromZero(text string) bool {
	if strings.HasPrefix(text, "found a tab character that violates indentation") {
		return true
	}
	what, ok := strings.CutPrefix(text, "did not find expected ")
	return ok && (what == "key" || strings.HasPrefix(what, "node content") || strings.ContainsAny(what[:1], "',<-"))
}

// tabbed finds a tab in the indentation of a line: the usual reason why something that looks right is refused.
func tabbed(data []byte, line int) (column int, found bool) {
	text := lineOf(data, line)
	indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
	tab := bytes.IndexByte(indent, '\t')
	return tab + 1, tab >= 0
}

// lineOf returns a line of the text, or nothing.
func lineOf(data []byte, line int) []byte {
	lines := bytes.SplitN(data, []byte("\n"), line+1)
	if line < 1 || line > len(lines) {
		return nil
	}
	return lines[line-1]
}

// IsNull reports whether a node is a key's value that was left out.
func IsNull(node *yaml.Node) bool { return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" }

// Find returns the key's value in a mapping, with its key; nil without one.
func Find(node *yaml.Node, name string) (key, value *yaml.Node) {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i], node.Content[i+1]
		}
	}
	return nil, nil
}

// Describe says what the file has, for a message about what it should have.
func Describe(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch tag := node.ShortTag(); tag {
	case "!!str":
		return "the text " + Shown(node.Value)
	case "!!int", "!!float":
		return "the number " + Cut(node.Value)
	case "!!bool":
		return "the truth value " + Cut(node.Value)
	case "!!timestamp":
		return "the date " + Cut(node.Value)
	case "!!null":
		return "nothing"
	default:
		return "a value of type " + Cut(tag)
	}
}

// Shown quotes a value from a file, cut to a length that fits a message.
func Shown(value string) string { return strconv.Quote(Cut(value)) }

// Cut cuts a value to a length that fits a message.
func Cut(value string) string {
	const most = 80
	if len(value) > most {
		return strings.ToValidUTF8(value[:most], "") + "…"
	}
	return value
}

// Listed joins quoted words for a sentence. Many of them are not quoted.
func Listed(words []string) string {
	if len(words) > 8 {
		return strings.Join(words, ", ")
	}
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = Shown(word)
	}
	return strings.Join(quoted, " or ")
}

// Locate finds the node at a path such as spec.vcenters[0].name below root, or its nearest ancestor.
func Locate(root *yaml.Node, path string) *yaml.Node {
	node := root
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' }) {
		var next *yaml.Node
		if number, isItem := strings.CutSuffix(step, "]"); isItem {
			if i, err := strconv.Atoi(number); err == nil && node.Kind == yaml.SequenceNode && i >= 0 && i < len(node.Content) {
				next = node.Content[i]
			}
		} else {
			_, next = Find(node, step)
		}
		if next == nil {
			return node
		}
		node = next
	}
	return node
}

// Language is what is read.
type Language struct {
	// Noun is what messages call a file, such as topology. APIVersion and Kind are what one begins with.
	Noun, APIVersion, Kind string
	// Size is how many bytes a file may have, and how many substitution may make.
	Size int
	// Items is how many list items a file may have in all; 0 for any number.
	Items int
	// Scalar, if not nil, reads a node, which is not null, into a field of a scalar type. Tag is the field's, empty for the
	// items of a list that has none.
	Scalar func(r *Reader, node *yaml.Node, into reflect.Value, tag reflect.StructTag, path string)
	// Line, if not nil, describes a line for a message at another one.
	Line func(line, at int) string
}

// Decoder is implemented by pointers to types that read themselves. What is wrong they report to r.
type Decoder interface {
	DecodeYAML(r *Reader, node *yaml.Node, path string)
}

// Reader collects what is wrong with a file. Make one with [NewReader]. It is for one goroutine.
type Reader struct {
	// Base is added to the lines of what is parsed next, so that the lines of several files differ.
	Base int

	lang     Language
	file     string
	found    Errors
	reported map[string]bool // paths, and places at paths
	types    Types
	root     reflect.Type // of the whole file
	items    int
	guesses  int // how many names hints may still be looked up among, which bounds the time that a hopeless file takes
	room     int // how many bytes substitution may still make
}

// NewReader returns a reader of the file of that name.
func NewReader(file string, lang Language) *Reader {
	return &Reader{file: file, lang: lang, reported: map[string]bool{}, types: Types{}, guesses: 200_000, room: lang.Size}
}

// File is the name of the file.
func (r *Reader) File() string { return r.file }

// Errorf reports an error of the field at path, at the place of the node. A place is reported once: its first error tends
// to explain the others.
func (r *Reader) Errorf(node *yaml.Node, path, format string, args ...any) {
	r.Hint(node, path, "", format, args...)
}

// Hint is [Reader.Errorf] with what was probably meant.
func (r *Reader) Hint(node *yaml.Node, path, hint, format string, args ...any) {
	line, column := 1, 1
	if node != nil {
		line, column = max(node.Line, 1), max(node.Column, 1)
	}
	place := fmt.Sprint(path, "\n", line, ":", column)
	if r.reported[place] || node != nil && r.reported[position(node)] {
		return
	}
	r.reported[place], r.reported[path] = true, true
	r.Add(Error{Line: line, Column: column, Path: path, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// position is the key in reported of a node whose other errors are not reported.
func position(node *yaml.Node) string { return fmt.Sprint("\n", node.Line, ":", node.Column) }

// Unknown reports a word that is none of those that there are.
func (r *Reader) Unknown(node *yaml.Node, path, what, word string, known []string) {
	r.Hint(node, path, r.Nearest(word, known), "unknown %s %s", what, Shown(word))
}

// Nearest returns the candidate that name is probably a misspelling of, or "".
func (r *Reader) Nearest(name string, candidates []string) string {
	if !r.Afford(len(candidates)) {
		return ""
	}
	return nearest.Of(name, candidates)
}

// Afford reports whether a hint may be looked up among that many names.
func (r *Reader) Afford(names int) bool {
	r.guesses -= names + 1
	return r.guesses >= 0
}

// Add takes over an error as it is; one without a file is of the reader's. The field does not count as reported.
func (r *Reader) Add(e Error) {
	e.File = cmp.Or(e.File, r.file)
	r.found = append(r.found, e)
}

// Reported reports whether the field at path has an error.
func (r *Reader) Reported(path string) bool { return r.reported[path] }

// Len is how many errors were reported.
func (r *Reader) Len() int { return len(r.found) }

// Failed reports whether there is an error.
func (r *Reader) Failed() bool { return len(r.found) > 0 }

// Err is all that was reported, by line, or nil.
func (r *Reader) Err() error {
	if len(r.found) == 0 {
		return nil
	}
	r.found.sort()
	return r.found
}

// line describes a line for a message at another one.
func (r *Reader) line(line, at int) string {
	if r.lang.Line != nil {
		return r.lang.Line(line, at)
	}
	return strconv.Itoa(line)
}

// maxShown is how many errors Errors.Error spells out: enough to work through, few enough not to scroll away.
const maxShown = 40

// Error is one thing that is wrong with a file.
type Error struct {
	// File is the name of the file, or of one that it includes. Line and Column count from 1.
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	// Path is the field, such as spec.vcenters[0].name; empty where the file as a whole is meant.
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
	// Hint is the name or value that was probably meant; often empty.
	Hint string `json:"hint,omitempty"`
}

// Error is the whole story on one line, in the form editors jump to.
func (e Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: ", e.File, e.Line, e.Column)
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Message)
	if e.Hint != "" {
		fmt.Fprintf(&b, " (did you mean %q?)", e.Hint)
	}
	return b.String()
}

// Errors is everything that is wrong with a file, sorted by position, the file itself before those that it includes. It is
// never empty; reach the parts with errors.As.
type Errors []Error

// Error lists the errors, one on each line. Past forty it says how many more there are.
func (e Errors) Error() string {
	var b strings.Builder
	for i, one := range e[:min(len(e), maxShown)] {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(one.Error())
	}
	if more := len(e) - maxShown; more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	return b.String()
}

// Unwrap gives the errors one by one, for errors.Is and errors.As.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

func (e Errors) sort() {
	slices.SortStableFunc(e, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Path, b.Path))
	})
}
