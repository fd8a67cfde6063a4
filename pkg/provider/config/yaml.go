package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// yamlReader reads the YAML format. It walks the nodes, so that every error has its key.
type yamlReader struct {
	name   string
	p      *problems
	source yamlSource
}

// readYAML returns nil if there is nothing to check further.
func readYAML(name string, data []byte, p *problems) *file {
	r := &yamlReader{name: name, p: p}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF) || err == nil && (len(doc.Content) == 0 || strict.IsNull(doc.Content[0])):
		p.at(position{file: name}, "", "file is empty")
		return nil
	case err != nil:
		r.syntax(err, data, nil)
		return nil
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		p.at(r.at(root, ""), notMapping(root), "must be a mapping, not %s", strict.Describe(root))
		return nil
	}
	if use, what := strict.Recognize(data); use != strict.UseUnknown && use != strict.UseCloudConfig {
		p.at(r.at(root, ""), foreignHint(use, what), "is %s, not a vsphere.conf", what)
		return nil
	}
	if k := tooManyDuplicates(root); k != nil {
		p.at(r.at(k, ""), "", "key %q is a duplicate, and this mapping has more than %d duplicates: the file is refused", k.Value, maxDuplicates)
		return nil
	}
	// The decoder finds duplicate keys, also below keys that are not read here, and guards against aliases that expand
	// without end.
	if err := doc.Decode(new(any)); err != nil {
		r.syntax(err, data, root)
		if _, ok := errors.AsType[*yaml.TypeError](err); !ok {
			return nil
		}
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		p.at(position{file: name}, "", "file has a second document, which would be ignored")
	}
	r.source = newYAMLSource(data, root)
	return r.file(root)
}

func (r *yamlReader) file(root *yaml.Node) *file {
	f := &file{format: YAML, name: r.name, global: endpoint{at: r.at(root, "global")}}
	for _, e := range r.entries(root, "") {
		switch e.key {
		case "global":
			f.global.at = e.at
			readSection(r, e, &f.global, globalFields())
		case "vcenter":
			f.incomplete = f.incomplete || e.value.Kind != yaml.MappingNode && !strict.IsNull(e.value)
			for _, t := range r.entries(e.value, e.at.path) {
				readSection(r, t, f.vcenter(t.key, t.at), vcenterFields())
			}
		case "labels":
			readSection(r, e, &f.labels, labelFields())
		case "nodes":
			readSection(r, e, &f.nodes, nodeFields())
		case "nsxt":
			f.nsxt.at = e.at
			readSection(r, e, &f.nsxt, nsxtFields())
		case "loadBalancer":
			f.balancers.at = e.at
			readSection(r, e, &f.balancers, balancerFields())
		case "loadBalancerClass":
			for _, c := range r.entries(e.value, e.at.path) {
				readSection(r, c, f.classOf(c.key, c.at), classFields())
			}
		case "route":
			f.route.at = e.at
			readSection(r, e, &f.route, routeFields())
		default:
			f.incomplete = true
			r.p.unknown(e.at, func() string { return sectionHint(e.key) })
		}
	}
	return f
}

// sectionHint suggests a section for an unknown key.
func sectionHint(key string) string {
	if fold(key) == "virtualcenter" {
		return "did you mean vcenter?"
	}
	sections := []string{"global", "vcenter", "labels", "nodes", "nsxt", "loadBalancer", "loadBalancerClass", "route"}
	return unknownHint(key, sections, yamlFullNames())
}

// yamlFullNames returns the full name of every key by folded name.
func yamlFullNames() map[string]string {
	all := map[string]string{}
	for section, keys := range map[string][]string{
		"global": names(globalFields(), yamlName), "labels": names(labelFields(), yamlName), "nodes": names(nodeFields(), yamlName),
		"loadBalancer": names(balancerFields(), yamlName),
	} {
		for _, key := range keys {
			all[fold(key)] = section + "." + key
		}
	}
	return all
}

func readSection[S any](r *yamlReader, section entry, into *S, fields []field[S]) {
	for _, e := range r.entries(section.value, section.at.path) {
		f, ok := named(fields, yamlName, e.key)
		switch {
		case !ok && slices.Contains(foreignYAML(), e.key), ok && f.into == nil:
			if !nothingSaid(e.value) {
				r.p.warn(e.at, "has no effect")
			}
		case !ok:
			r.p.unknown(e.at, func() string { return unknownHint(e.key, names(fields, yamlName), yamlFullNames()) })
		default:
			r.set(f.into(into), e)
		}
	}
}

// set puts a value into dst, a pointer to a cell. A null or empty value and the number 0 set nothing.
func (r *yamlReader) set(dst any, e entry) {
	n := e.value
	if strict.IsNull(n) || n.Kind == yaml.ScalarNode && n.Value == "" {
		if text, ok := dst.(*cell[string]); ok {
			text.leftOut(e.at, whyNothing(e))
		}
		return
	}
	switch dst := dst.(type) {
	case *cell[string]:
		if n.Kind != yaml.ScalarNode {
			r.p.at(e.at, "", "must be text, not %s", strict.Describe(n))
			dst.setBad(e.at)
			return
		}
		value, hint := r.text(e)
		dst.put(value, e.at)
		dst.hint = hint
	case *cell[int]:
		var i int
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Decode(&i) != nil {
			r.p.at(e.at, quoted(n), "must be a whole number, not %s", strict.Describe(n))
			dst.setBad(e.at)
			return
		}
		if i != 0 {
			dst.put(i, e.at)
		}
	case *cell[bool]:
		var b bool
		if n.Kind != yaml.ScalarNode || n.Decode(&b) != nil {
			r.p.at(e.at, quoted(n), "must be true or false, not %s", strict.Describe(n))
			dst.setBad(e.at)
			return
		}
		dst.put(b, e.at)
	case *cell[map[string]string]:
		if tags, ok := r.tags(e); !ok {
			dst.setBad(e.at)
		} else if len(tags) > 0 {
			dst.put(tags, e.at)
		}
	case *cell[[]string]:
		if list, ok := r.list(e); !ok {
			dst.setBad(e.at)
		} else if len(list) > 0 {
			dst.put(list, e.at)
		}
	default:
		panic(fmt.Sprintf("config: no cell: %T", dst))
	}
}

// list reads a list of texts.
func (r *yamlReader) list(e entry) ([]string, bool) {
	if e.value.Kind != yaml.SequenceNode {
		hint := ""
		if e.value.Kind == yaml.ScalarNode {
			hint = "write [" + strings.Join(splitList(e.value.Value), ", ") + "]"
		}
		r.p.at(e.at, hint, "must be a list, not %s", strict.Describe(e.value))
		return nil, false
	}
	var list []string
	for _, item := range e.value.Content {
		item = resolveAlias(item)
		if item.Kind != yaml.ScalarNode {
			r.p.at(r.at(item, e.at.path), "", "an entry must be text, not %s", strict.Describe(item))
			return nil, false
		}
		if strict.IsNull(item) || strings.TrimSpace(item.Value) == "" {
			r.p.warn(r.at(item, e.at.path), "an entry is empty and has no effect")
			continue
		}
		if c := bothEnds(item.Value); c != 0 {
			r.p.suspect(r.at(item, e.at.path), "leave the inner ones out", "an entry has %c at both ends as a part of the value", c)
		}
		list = append(list, item.Value)
	}
	return list, true
}

// entry is a key of a mapping with its value, aliases resolved.
type entry struct {
	key   string
	value *yaml.Node
	at    position
	// comment is the one on the key's line, where YAML has it there.
	comment string
}

// maxMerges bounds the nesting of merged mappings.
const maxMerges = 8

// entries returns the keys of a mapping, its own before merged ones. A null value is an empty mapping; anything else is
// reported.
func (r *yamlReader) entries(n *yaml.Node, path string) []entry {
	n = resolveAlias(n)
	if strict.IsNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		r.p.at(r.at(n, path), "", "must be a mapping, not %s", strict.Describe(n))
		return nil
	}
	seen := map[string]bool{}
	var all []entry
	var collect func(n *yaml.Node, depth int)
	collect = func(n *yaml.Node, depth int) {
		var merged []*yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := resolveAlias(n.Content[i]), resolveAlias(n.Content[i+1])
			switch {
			case key.Tag == "!!merge":
				merged = append(merged, value)
			case !seen[key.Value]:
				seen[key.Value] = true
				all = append(all, entry{key.Value, value, r.at(n.Content[i], join(path, quoteKey(key.Value))), key.LineComment})
			}
		}
		for _, from := range merged {
			list := []*yaml.Node{from}
			if from.Kind == yaml.SequenceNode {
				list = from.Content
			}
			for _, m := range list {
				if m = resolveAlias(m); m.Kind == yaml.MappingNode && depth < maxMerges {
					collect(m, depth+1)
				}
			}
		}
	}
	collect(n, 0)
	return all
}

func (r *yamlReader) at(n *yaml.Node, path string) position {
	return position{file: r.name, line: n.Line, column: n.Column, path: path}
}

func resolveAlias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// quoted returns a hint for a number or a truth value that is text only because of its quotes.
func quoted(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		plain := yaml.Node{Kind: yaml.ScalarNode, Value: n.Value}
		if tag := plain.ShortTag(); tag == "!!int" || tag == "!!bool" {
			return "leave the quotes out"
		}
	}
	return ""
}

// notMapping returns a hint for a file that is not a mapping.
func notMapping(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "=") {
		return "is this an INI file without its first section?"
	}
	return ""
}

// quoteKey returns a key for messages: quoted if it is empty or has unprintable characters.
func quoteKey(key string) string {
	key = withoutLogin(key)
	if quoted := strconv.Quote(key); key == "" || len(quoted) != len(key)+2 {
		return quoted
	}
	return key
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// syntax reports errors of the decoder; root is nil if there are no nodes yet.
func (r *yamlReader) syntax(err error, data []byte, root *yaml.Node) {
	messages := []string{err.Error()}
	if te, ok := errors.AsType[*yaml.TypeError](err); ok {
		messages = te.Errors
	}
	for _, text := range messages {
		at := position{file: r.name}
		at.line, text = strict.Syntax(data, text)
		if key := complexKey(root); key != nil && strings.HasPrefix(text, "invalid map key") {
			at.line, at.column = key.Line, key.Column
			text = "a key must be text, not " + strict.Describe(resolveAlias(key))
		}
		text, hint := withoutValues(text)
		r.p.at(at, cmp.Or(hint, tabHint(text, at.line, data), quotesHint(text)), "%s", text)
	}
}

// values matches the quoted parts of the library's messages, which may contain a password.
var values = regexp.MustCompile("(anchor '[^']*')|(`[^`]*` as)")

// withoutValues returns a message of the library without quoted text, and a hint.
func withoutValues(text string) (message, hint string) {
	if strings.HasPrefix(text, "unknown anchor ") {
		hint = "write a value that begins with * in quotes"
	}
	return values.ReplaceAllStringFunc(text, func(quoted string) string {
		if strings.HasPrefix(quoted, "anchor") {
			return "anchor"
		}
		return "text as"
	}), hint
}

// complexKey returns the first key below n that is not text; the decoder refuses it without a line.
func complexKey(n *yaml.Node) *yaml.Node {
	if n == nil {
		return nil
	}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && resolveAlias(child).Kind != yaml.ScalarNode {
			return child
		}
		if key := complexKey(child); key != nil {
			return key
		}
	}
	return nil
}

// tabHint returns a hint for the decoder's message about a tab, which does not mention it.
func tabHint(text string, line int, data []byte) string {
	if !strings.Contains(text, "cannot start any token") {
		return ""
	}
	lines := bytes.Split(data, []byte("\n"))
	for i := max(line-1, 0); i < min(line+1, len(lines)); i++ {
		if bytes.HasPrefix(bytes.TrimLeft(lines[i], " "), []byte("\t")) {
			return "indent with spaces, not with tabs"
		}
	}
	return ""
}

// quotesHint returns a hint for the messages about text that YAML takes for something else because it has no quotes, or the
// wrong ones.
func quotesHint(text string) string {
	for part, hint := range map[string]string{
		"unknown escape character":                 "in double quotes a backslash begins an escape: " + quoteIt,
		"did not find expected hexdecimal number":  "in double quotes \\x and \\u begin an escape: " + quoteIt,
		"invalid Unicode character escape code":    "in double quotes \\u begins an escape: " + quoteIt,
		"cannot start any token":                   "if a value begins with it, " + quoteIt,
		"expected alphabetic or numeric character": "text that begins with & or * is an anchor of YAML: " + quoteIt,
		"block sequence entries are not allowed":   "if a value begins with - and a space, " + quoteIt,
		"mapping values are not allowed":           "if a value has a colon, " + quoteIt,
	} {
		if strings.Contains(text, part) {
			return hint
		}
	}
	return ""
}

// maxDuplicates is how many duplicate keys a mapping may have before the file is refused as a whole. The decoder makes an error
// for every pair of equal keys: for a file of 30 kB with one key, that takes gigabytes.
const maxDuplicates = 20

// tooManyDuplicates returns a key of a mapping with too many duplicates for the decoder; nil for none.
func tooManyDuplicates(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.MappingNode {
		seen, again := make(map[string]bool, len(n.Content)/2), 0
		for i := 0; i < len(n.Content); i += 2 {
			k := n.Content[i]
			if !seen[k.Value] {
				seen[k.Value] = true
			} else if again++; again > maxDuplicates {
				return k
			}
		}
	}
	for _, c := range n.Content { // not below aliases: their targets are visited anyway
		if k := tooManyDuplicates(c); k != nil {
			return k
		}
	}
	return nil
}
