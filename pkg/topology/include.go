package topology

import (
	"errors"
	"fmt"
	"io/fs"
	slash "path"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// The limits of a topology's files, in addition to their total size.
const (
	maxFiles   = 200
	maxNesting = 10
)

// includes merges a topology's file with the files that it includes: fragments of topologies, which the including file overrides
// (see merge). A file counts once, where it is first included.
//
// Names are relative to the including file, and must not leave the folder of the topology, by .. or by a symbolic link: a
// topology may be untrusted, messages quote contents of files, and a folder with a complete topology can be moved.
type includes struct {
	*problems
	folder *folder
	room   int             // the remaining number of bytes
	files  map[string]bool // by path below the folder
	chain  []inclusion
}

// inclusion is a file that is being merged, and the place that includes it.
type inclusion struct {
	path string // below the folder
	line int    // of the sources
}

// whole returns the file's node, merged with the files that it includes.
func (s *includes) whole(root *yaml.Node) *yaml.Node {
	var lower *yaml.Node
	for i, name := range s.names(root) {
		if fragment := s.include(name, (*path)(nil).key("include").item(i)); fragment != nil {
			lower = merge(lower, fragment, "")
		}
	}
	return merge(lower, root, "")
}

// names removes the list of included files from the root of a file.
func (s *includes) names(root *yaml.Node) []*yaml.Node {
	at := (*path)(nil).key("include")
	list := takeKey(s.problems, root, at)
	if list == nil || strict.IsNull(list) {
		return nil
	}
	before := s.Len()
	var texts []string
	decode(s.problems, list, &texts, at)
	if s.Len() > before {
		return nil
	}
	if s.folder == nil && len(texts) > 0 {
		s.mark(list, at, "", "has no folder to be read from: this topology was not read from a file")
		return nil
	}
	return list.Content
}

// include reads one file with those that it includes, or reports an error.
func (s *includes) include(node *yaml.Node, at *path) *yaml.Node {
	from := s.chain[len(s.chain)-1].path
	name := slash.Join(slash.Dir(from), node.Value)
	refuse := func(hint, format string, args ...any) *yaml.Node {
		s.mark(node, at, hint, "%s%s", fmt.Sprintf(format, args...), s.around())
		return nil
	}
	switch {
	case strings.Contains(node.Value, "${"):
		return refuse("", "must be the name of a file, not %s: files are included before parameters are known", strict.Shown(node.Value))
	}
	if complaint := outside(node.Value, name, "the topology's own folder"); complaint != "" {
		return refuse("", "%s", complaint)
	}
	for i, outer := range s.chain {
		if outer.path == name {
			return refuse("", "makes a circle: %s", s.circle(i))
		}
	}
	switch {
	case s.files[name]:
		return nil
	case len(s.chain) > maxNesting:
		return refuse("", "is nested more than %d deep", maxNesting)
	case len(s.files) >= maxFiles:
		return refuse("", "makes more than the %d files a topology may have", maxFiles)
	}
	s.files[name] = true
	data, err := s.folder.read(name, s.room)
	switch {
	case tooLarge(err):
		return refuse("", "makes the files larger than the %s a topology may have", input.Size(MaxSize))
	case errors.Is(err, fs.ErrNotExist):
		hint := s.Nearest(slash.Base(name), s.folder.list(slash.Dir(name)))
		if hint != "" {
			hint = slash.Join(slash.Dir(node.Value), hint)
		}
		return refuse(hint, "there is no file %s", s.folder.name(name))
	case err != nil:
		return refuse("", "%s cannot be read: %v", s.folder.name(name), input.Plain(err))
	}
	s.room -= len(data)
	s.sources.open(s.folder.name(name), len(data))
	return s.fragment(data, inclusion{name, node.Line})
}

// fragment parses and merges an included file.
func (s *includes) fragment(data []byte, this inclusion) *yaml.Node {
	root := s.parse(data)
	if root == nil {
		return nil
	}
	if root.Kind != yaml.MappingNode {
		s.mark(root, nil, "", "must be a mapping (key: value), not %s: a part of a topology begins with its keys, such as spec:", strict.Describe(root))
		return nil
	}
	for key, want := range map[string]string{"apiVersion": APIVersion, "kind": Kind} {
		at := (*path)(nil).key(key)
		if node := child(root, at); node != nil && !strict.IsNull(node) && node.Value != want {
			s.mark(node, at, "", "must be %s, or left out, not %s", want, strict.Describe(node))
		}
	}
	s.chain = append(s.chain, this)
	defer func() { s.chain = s.chain[:len(s.chain)-1] }()
	return s.whole(root)
}

// around describes how the current file was included, for messages; empty for the topology itself.
func (s *includes) around() string {
	var steps []string
	for i := len(s.chain) - 1; i > 0; i-- {
		file, line := s.sources.find(s.chain[i].line)
		steps = append(steps, fmt.Sprintf("%s:%d", file.name, line))
	}
	if len(steps) == 0 {
		return ""
	}
	return " (included from " + strings.Join(steps, ", from ") + ")"
}

// circle describes the cycle of includes from a place in the chain.
func (s *includes) circle(from int) string {
	var steps []string
	for _, inclusion := range append(s.chain[from:len(s.chain):len(s.chain)], s.chain[from]) {
		steps = append(steps, s.folder.name(inclusion.path))
	}
	return strings.Join(steps, " → ")
}

// takeKey removes a key from a mapping and returns its value, or nil. Of duplicates, the first counts.
func takeKey(p *problems, root *yaml.Node, at *path) *yaml.Node {
	if root.Kind != yaml.MappingNode {
		return nil
	}
	var found *yaml.Node
	kept, line := root.Content[:0], 0
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode || key.Value != at.name:
			kept = append(kept, key, value)
		case found == nil:
			found, line = value, key.Line
		default:
			p.Add(Error{
				Line: key.Line, Column: key.Column, Path: at.String(),
				Message: "is given twice, first on line " + p.sources.describe(line, key.Line),
			})
		}
	}
	root.Content = kept
	return found
}

// outside returns the reason why a name leads outside of the including file's folder, or "", without checking links. joined is
// the name relative to the folder that must not be left. [folder] follows links only within the folder.
func outside(name, joined, folder string) string {
	joined = slash.Clean(joined)
	switch {
	case name == "":
		return "must not be empty"
	case slash.IsAbs(name), filepath.IsAbs(name):
		return "must be relative to this file, not " + strict.Shown(name)
	case !fs.ValidPath(joined), joined == ".", !filepath.IsLocal(filepath.FromSlash(joined)):
		return "must be a file in " + folder + " or below it, which " + strict.Shown(name) + " is not"
	}
	return ""
}

// tooLarge reports whether an error is about the size limit.
func tooLarge(err error) bool {
	_, is := errors.AsType[*input.TooLarge](err)
	return is
}

// merge merges one file's node over that of its included files. Mappings merge by key; lists with named items (see named) merge
// by item, others are concatenated, lower first; otherwise the upper value counts, unless it is empty. The caller must not use
// either node afterward.
//
// It reports nothing: duplicate keys stay for the decoder.
func merge(lower, upper *yaml.Node, key string) *yaml.Node {
	switch {
	case lower == nil, lower.Kind != upper.Kind && !strict.IsNull(upper):
		return upper
	case strict.IsNull(upper):
		return lower
	case upper.Kind == yaml.MappingNode:
		upper.Content = mergeKeys(lower.Content, upper.Content)
	case upper.Kind == yaml.SequenceNode && named(key):
		upper.Content = mergeNamed(lower.Content, upper.Content)
	case upper.Kind == yaml.SequenceNode:
		upper.Content = append(lower.Content, upper.Content...)
	}
	return upper
}

// named reports whether a list's items are identified by name, so that two files can each have a part of one.
func named(key string) bool {
	switch key {
	case "vcenters", "datacenters", "clusters", "parameters":
		return true
	}
	return false
}

// mergeKeys merges the contents of two mappings: keys and values in turn.
func mergeKeys(lower, upper []*yaml.Node) []*yaml.Node {
	at := make(map[string]int, len(lower)/2)
	for i := 0; i+1 < len(lower); i += 2 {
		if _, twice := at[lower[i].Value]; !twice && lower[i].Kind == yaml.ScalarNode {
			at[lower[i].Value] = i
		}
	}
	merged := lower
	for i := 0; i+1 < len(upper); i += 2 {
		key, value := upper[i], upper[i+1]
		if j, ok := at[key.Value]; ok && key.Kind == yaml.ScalarNode {
			merged[j], merged[j+1] = key, merge(merged[j+1], value, key.Value)
			delete(at, key.Value) // a duplicate in upper is left for the decoder
			continue
		}
		merged = append(merged, key, value)
	}
	return merged
}

// mergeNamed merges two lists of named items. Names are compared as written, with parameters.
func mergeNamed(lower, upper []*yaml.Node) []*yaml.Node {
	at := make(map[string]int, len(lower))
	for i, item := range lower {
		if name, ok := nameOf(item); ok {
			if _, twice := at[name]; !twice {
				at[name] = i
			}
		}
	}
	merged := lower
	for _, item := range upper {
		name, ok := nameOf(item)
		if i, found := at[name]; ok && found {
			merged[i] = merge(merged[i], item, "")
			delete(at, name)
			continue
		}
		merged = append(merged, item)
	}
	return merged
}

func nameOf(item *yaml.Node) (string, bool) {
	if node := child(item, &path{name: "name"}); node != nil && node.Kind == yaml.ScalarNode && !strict.IsNull(node) {
		return node.Value, true
	}
	return "", false
}
