package topology

import (
	"bytes"
	_ "embed"
	"encoding"
	"errors"
	"fmt"
	"io/fs"
	"os"
	slash "path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// maxUnread is the number of syntax errors above which the contents are not checked: the file is probably not a topology, and
// more errors would not help.
const maxUnread = 1000

// Load reads and resolves a topology. name stands for the data in messages. Without a folder it cannot include files; settings
// are values of its parameters. The error, if any, is an [Errors] with all problems. A topology without nodes is valid.
func Load(name string, data []byte, settings ...Setting) (*Topology, error) {
	return load(name, name, data, nil, settings)
}

// LoadFile loads the file at path with the files that it includes, which must be in the file's folder or below. It reads no more
// than the limits allow. It returns the errors of [Load], or those of reading the file.
func LoadFile(path string, settings ...Setting) (*Topology, error) {
	data, err := input.File(path, MaxSize)
	if err != nil && !tooLarge(err) {
		return nil, unreadable(path, err)
	}
	dir, base := filepath.Split(path)
	from := &folder{path: filepath.Clean(dir), dir: dir}
	defer from.close()
	if err != nil {
		return nil, tooLong(path)
	}
	return load(path, base, data, from, settings)
}

// LoadBelow is [LoadFile] for a file that another one names: name is relative to dir, the folder of that other file. It refuses
// names that lead out of dir (absolute ones, by .., or by a symbolic link) without reading. Names have slashes on every system.
func LoadBelow(dir, name string, settings ...Setting) (*Topology, error) {
	if complaint := outside(name, name, "this file's own folder"); complaint != "" {
		return nil, errors.New(complaint)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, unreadable(dir, err)
	}
	defer root.Close() // only read: closing cannot lose data
	below, err := root.OpenRoot(slash.Dir(slash.Clean(name)))
	if err != nil {
		return nil, unreadable(name, err)
	}
	from := &folder{files: below.FS(), root: below, dir: filepath.Join(dir, filepath.FromSlash(slash.Dir(name)))}
	defer from.close()
	base := slash.Base(name)
	data, err := from.read(base, MaxSize)
	switch {
	case tooLarge(err):
		return nil, tooLong(from.name(base))
	case err != nil:
		return nil, unreadable(from.name(base), err)
	}
	return load(from.name(base), base, data, from, settings)
}

// LoadFS is [LoadFile] for a file system, such as an embedded one. Included files must be in the file's folder or below.
func LoadFS(files fs.FS, name string, settings ...Setting) (*Topology, error) {
	dir := slash.Dir(name)
	below, err := fs.Sub(files, dir)
	if err != nil {
		return nil, fmt.Errorf("topology %w", err)
	}
	from := &folder{files: below, dir: dir}
	data, err := from.read(slash.Base(name), MaxSize)
	switch {
	case tooLarge(err):
		return nil, tooLong(name)
	case err != nil:
		return nil, unreadable(name, err)
	}
	return load(name, slash.Base(name), data, from, settings)
}

// tooLong returns the error for a file that exceeds the limit.
func tooLong(name string) error {
	p := newProblems(name)
	p.TooLong()
	return p.err()
}

// unreadable returns the error with the requested name and without the failed call.
func unreadable(name string, err error) error {
	return fmt.Errorf("topology %s: %w", name, input.Plain(err))
}

// load merges the topology, decodes and resolves it. base is the name of its file in the folder.
func load(name, base string, data []byte, from *folder, settings []Setting) (*Topology, error) {
	p := newProblems(name)
	if p.root = p.parse(data); p.root == nil {
		return nil, p.err()
	}
	if !compose(p, base, len(data), from, settings) {
		return nil, p.err()
	}
	t := new(Topology)
	decode(p, p.root, t, nil)
	if p.Len() < maxUnread {
		resolve(p, t)
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	return t, nil
}

// compose merges the files and parameters of a topology. After errors in a step it returns false without the next ones, which
// could report missing parts that were only not read.
func compose(p *problems, base string, size int, from *folder, settings []Setting) bool {
	whole := &includes{
		problems: p, folder: from, room: MaxSize - size, files: map[string]bool{base: true}, chain: []inclusion{{path: base}},
	}
	before := p.Len()
	if p.root = whole.whole(p.root); p.Len() > before {
		return false
	}
	known := parameters(p, settings)
	if p.Len() == before {
		substitute(p, known)
	}
	return p.Len() == before
}

// resolve resolves a decoded topology step by step. Each step tolerates what earlier ones reported.
func resolve(p *problems, t *Topology) {
	checkHeader(p, t)
	sites, ok := expand(p, t)
	if !ok {
		return
	}
	setDefaults(t)
	checkInventory(p, t, sites)
	placeVMs(p, sites)
	checkSupervisor(p, t)
	identify(p, t, sites)
}

//go:embed schema.json
var schema string

// Schema returns the JSON schema (draft 7) of topology files, for editors: every key with its type, its values and its meaning.
// It accepts every file that [Load] accepts, and included parts, so it cannot require fields that another file may have; only
// [Load] checks references.
func Schema() []byte { return []byte(schema) }

// path is a field's place in the file, as a list from the field upward. It is cheap to extend and only formatted for errors. Nil
// is the document.
type path struct {
	up    *path
	name  string // a mapping's key; empty for a list item
	index int
}

func (p *path) key(name string) *path { return &path{up: p, name: name} }

func (p *path) item(index int) *path { return &path{up: p, index: index} }

func (p *path) steps() []*path {
	var steps []*path
	for ; p != nil; p = p.up {
		steps = append(steps, p)
	}
	for i, j := 0, len(steps)-1; i < j; i, j = i+1, j-1 {
		steps[i], steps[j] = steps[j], steps[i]
	}
	return steps
}

// String returns the usual notation, such as spec.vcenters[0].name.
func (p *path) String() string {
	var b strings.Builder
	for i, step := range p.steps() {
		switch {
		case step.name == "":
			b.WriteString("[" + strconv.Itoa(step.index) + "]")
		case i == 0:
			b.WriteString(strict.Cut(step.name))
		default:
			b.WriteString("." + strict.Cut(step.name))
		}
	}
	return b.String()
}

// locate finds the node at p below root. If it does not exist, locate returns the nearest ancestor and false.
func locate(root *yaml.Node, p *path) (*yaml.Node, bool) {
	node := root
	for _, step := range p.steps() {
		next := child(node, step)
		if next == nil {
			return node, false
		}
		node = next
	}
	return node, true
}

func child(node *yaml.Node, step *path) *yaml.Node {
	switch {
	case step.name == "" && node.Kind == yaml.SequenceNode && step.index < len(node.Content):
		return node.Content[step.index]
	case step.name != "" && node.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == step.name {
				return node.Content[i+1]
			}
		}
	}
	return nil
}

// scalarReader decodes scalars by the rules of a topology: it does not convert between text and numbers.
type scalarReader struct {
	*strict.Reader
	bounds bounds
}

// bounds are the limits in a field's tags: min:"0" (numbers and sizes that may be zero) and max:"65536" (bytes of text).
type bounds struct {
	zero bool
	most int
}

func boundsOf(tag reflect.StructTag) bounds {
	b := bounds{zero: tag.Get("min") == "0", most: maxText}
	if n, err := strconv.Atoi(tag.Get("max")); err == nil {
		b.most = n
	}
	return b
}

func scalar(r *strict.Reader, node *yaml.Node, into reflect.Value, tag reflect.StructTag, at string) {
	d := scalarReader{r, boundsOf(tag)}
	text, ok := reflect.TypeAssert[encoding.TextUnmarshaler](into.Addr())
	switch {
	case ok:
		d.text(node, text, at)
	case into.Kind() == reflect.String:
		d.word(node, into, at)
	case into.Kind() == reflect.Bool:
		d.truth(node, into, at)
	default:
		d.count(node, into, at)
	}
}

// choices is implemented by types with a fixed set of values.
type choices interface{ choices() []string }

// choicesOf returns the values of a type with a fixed set. Package stock lists its own.
func choicesOf(value any) (words []string, limited bool) {
	switch v := value.(type) {
	case choices:
		return v.choices(), true
	case stock.Behavior:
		for _, b := range stock.All() {
			words = append(words, string(b))
		}
		return words, true
	}
	return nil, false
}

func (d scalarReader) word(node *yaml.Node, into reflect.Value, at string) {
	words, limited := choicesOf(into.Interface())
	isText := node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str"
	switch {
	case isText && limited:
		d.choice(node, into, at, words)
	case limited:
		d.Hint(node, at, d.Nearest(node.Value, words), "must be one of %s, not %s", strict.Listed(words), strict.Describe(node))
	case !isText:
		d.Hint(node, at, quoted(node), "must be text, not %s", strict.Describe(node))
	case len(node.Value) > d.bounds.most:
		d.Hint(node, at, "", "must be at most %d bytes long, not %s", d.bounds.most, strict.Shown(node.Value))
	default:
		into.SetString(node.Value)
	}
}

func (d scalarReader) choice(node *yaml.Node, into reflect.Value, at string, words []string) {
	for _, word := range words {
		if node.Value == word {
			into.SetString(word)
			return
		}
	}
	hint := ""
	if s, ok := reflect.TypeAssert[synonyms](into); ok {
		hint = s.synonyms()[strings.ToLower(node.Value)]
	}
	if hint == "" {
		hint = d.Nearest(node.Value, words)
	}
	d.Hint(node, at, hint, "must be one of %s, not %s", strict.Listed(words), strict.Shown(node.Value))
}

// synonyms are words of other programs for values of a topology.
type synonyms interface{ synonyms() map[string]string }

// text decodes a scalar with UnmarshalText, also from a number.
func (d scalarReader) text(node *yaml.Node, into encoding.TextUnmarshaler, at string) {
	if node.Kind != yaml.ScalarNode {
		d.Hint(node, at, "", "must be a single value, not %s", strict.Describe(node))
		return
	}
	if err := into.UnmarshalText([]byte(node.Value)); err != nil {
		hint := ""
		if _, ok := into.(*Bytes); ok {
			hint = binarySize(node.Value)
		}
		d.Hint(node, at, hint, "%v, not %s", err, strict.Shown(node.Value))
		return
	}
	b, ok := into.(*Bytes)
	switch {
	case !ok || *b > 0 || *b == 0 && d.bounds.zero:
	case d.bounds.zero:
		d.Hint(node, at, "", "must not be less than nothing")
	default:
		d.Hint(node, at, "", "must be more than nothing")
	}
}

// truth decodes a truth value.
func (d scalarReader) truth(node *yaml.Node, into reflect.Value, at string) {
	var is bool
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!bool" || node.Decode(&is) != nil {
		d.Hint(node, at, "", "must be true or false, not %s", strict.Describe(node))
		return
	}
	into.SetBool(is)
}

// count decodes a whole number. All numbers of a topology are counts, most of them positive.
func (d scalarReader) count(node *yaml.Node, into reflect.Value, at string) {
	var n int64
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!int" {
		d.Hint(node, at, "", "must be a whole number, not %s", strict.Describe(node))
		return
	}
	if err := node.Decode(&n); err != nil || into.OverflowInt(n) {
		d.Hint(node, at, "", "is too large a number")
		return
	}
	least := int64(1)
	if d.bounds.zero {
		least = 0
	}
	if n < least {
		d.Hint(node, at, "", "must be at least %d", least)
		return
	}
	into.SetInt(n)
}

// quoted returns a hint for a value that YAML reads as a number or similar.
func quoted(node *yaml.Node) string {
	switch node.ShortTag() {
	case "!!int", "!!float", "!!bool", "!!timestamp":
		return node.Value
	}
	return ""
}

// Marshal writes a topology as YAML for [Load], with fields in the order of the types. Loading the result of a resolved topology
// returns an equal one.
func Marshal(t *Topology) ([]byte, error) {
	var text bytes.Buffer
	out := yaml.NewEncoder(&text)
	out.SetIndent(2)
	if err := out.Encode(encoder{strict.Types{}}.node(reflect.ValueOf(t).Elem())); err != nil {
		return nil, fmt.Errorf("topology %q: %w", t.Metadata.Name, err)
	}
	if err := out.Close(); err != nil {
		return nil, fmt.Errorf("topology %q: %w", t.Metadata.Name, err)
	}
	return text.Bytes(), nil
}

// encoder makes nodes of values.
type encoder struct{ types strict.Types }

func (r encoder) node(value reflect.Value) *yaml.Node {
	if text, ok := reflect.TypeAssert[encoding.TextMarshaler](value); ok {
		b, err := text.MarshalText()
		if err == nil {
			return &yaml.Node{Kind: yaml.ScalarNode, Value: string(b)}
		}
	}
	switch value.Kind() {
	case reflect.Pointer: // an optional one that is nil is left out
		return r.node(value.Elem())
	case reflect.Struct:
		node := &yaml.Node{Kind: yaml.MappingNode}
		for _, field := range r.types.Of(value.Type()) {
			inner := value.FieldByIndex(field.Index)
			if field.Optional && (inner.IsZero() || inner.Kind() == reflect.Slice && inner.Len() == 0) {
				continue
			}
			node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: field.Name}, r.node(inner))
		}
		return node
	case reflect.Slice:
		node := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range value.Len() {
			node.Content = append(node.Content, r.node(value.Index(i)))
		}
		return node
	case reflect.String:
		return textNode(value.String())
	case reflect.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.FormatBool(value.Bool())}
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.FormatInt(value.Int(), 10)}
	}
}

// textNode quotes text that a YAML 1.1 reader could interpret differently; the encoder only knows YAML 1.2. It escapes text that
// looks like a parameter.
func textNode(text string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: strings.ReplaceAll(text, "${", "$${")}
	if slices.Contains([]string{"y", "Y", "n", "N", "yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF"}, text) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}
