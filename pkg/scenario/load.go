package scenario

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// Load reads and checks a scenario. The name stands for the data in messages; settings are values of its parameters. The
// topology it runs on is of the catalogue or stands in it: there is no folder for files. The error, if any, is a
// [topology.Errors] with everything that is wrong.
func Load(name string, data []byte, settings ...topology.Setting) (*Scenario, error) {
	return load(name, data, folder{}, settings)
}

// maxSize is how many bytes a file may have.
const maxSize = 1 << 20

func newReader(name string) *strict.Reader {
	return strict.NewReader(name, strict.Language{Noun: "scenario", APIVersion: APIVersion, Kind: Kind, Size: maxSize})
}

// LoadFile loads the file at a path. The topology may be a file, relative to its folder. Errors are those of [Load], and
// those of reading the file.
func LoadFile(name string, settings ...topology.Setting) (*Scenario, error) {
	data, err := input.File(name, maxSize)
	if err != nil {
		return nil, unreadable(name, err)
	}
	return load(name, data, folder{dir: filepath.Dir(name), there: true}, settings)
}

// LoadFS is [LoadFile] for a file of a file system.
func LoadFS(files fs.FS, name string, settings ...topology.Setting) (*Scenario, error) {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	return load(name, data, folder{files: files, dir: path.Dir(name), there: true}, settings)
}

func unreadable(name string, err error) error {
	if _, ok := errors.AsType[*input.TooLarge](err); ok {
		r := newReader(name)
		r.TooLong()
		return r.Err()
	}
	return fmt.Errorf("scenario %s: %w", name, input.Plain(err))
}

func load(name string, data []byte, from folder, settings []topology.Setting) (*Scenario, error) {
	r := newReader(name)
	root := r.Parse(data)
	if root == nil {
		return nil, r.Err()
	}
	if !header(r, root) {
		return nil, r.Err()
	}
	s := &Scenario{File: name, source: data}
	if s.Values = parameters(r, root, settings); r.Failed() {
		return nil, r.Err()
	}
	s.root = replaceParameters(r, root, s.Values)
	if r.Failed() {
		return nil, r.Err()
	}
	r.Decode(s.root, s, "")
	s.attach()
	s.placed(from)
	s.Topology.resolve(r, from)
	check(r, s)
	if err := r.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// header looks at apiVersion and kind, without which nothing else that could be said would make sense.
func header(r *strict.Reader, root *yaml.Node) bool {
	if root.Kind != yaml.MappingNode {
		r.Errorf(root, "", "must be a mapping (key: value), not %s", strict.Describe(root))
		return false
	}
	for _, want := range []struct{ key, value string }{{"apiVersion", APIVersion}, {"kind", Kind}} {
		switch _, node := strict.Find(root, want.key); {
		case node == nil:
			r.Errorf(root, want.key, "is missing: %s: %s", want.key, want.value)
		case node.Value != want.value && want.key == "kind" && node.Value == topology.Kind:
			r.Errorf(node, want.key, "is a topology, on which scenarios run, not a scenario")
		case node.Value != want.value:
			r.Hint(node, want.key, want.value, "must be %s, not %s", want.value, strict.Describe(node))
		}
	}
	return !r.Failed()
}

// replaceParameters puts values in the place of ${name}. What a set step names is left to the steps after it.
func replaceParameters(r *strict.Reader, root *yaml.Node, values map[string]string) *yaml.Node {
	made := *root
	made.Content = slices.Clone(root.Content)
	known, late := written(values), map[string]bool{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, node := root.Content[i].Value, root.Content[i+1]
		switch {
		case key == "parameters":
		case key == "steps" && node.Kind == yaml.SequenceNode:
			steps := *node
			steps.Content = nil
			for n, step := range node.Content {
				steps.Content = append(steps.Content, r.Substitute(step, strict.Item(key, n), strict.Values{Known: known, Late: late}))
				if _, set := strict.Find(step, "set"); set != nil && set.Kind == yaml.MappingNode {
					for j := 0; j < len(set.Content); j += 2 {
						late[set.Content[j].Value] = true
					}
				}
			}
			made.Content[i+1] = &steps
		default:
			made.Content[i+1] = r.Substitute(node, key, strict.Values{Known: known})
		}
	}
	return &made
}

// written are values as if they had been written where they are used.
func written(values map[string]string) map[string]strict.Value {
	known := make(map[string]strict.Value, len(values))
	for name, text := range values {
		known[name] = strict.Value{Text: text}
	}
	return known
}

// attach gives the steps their paths.
func (s *Scenario) attach() {
	_, list := strict.Find(s.root, "steps")
	for i, step := range s.Steps {
		if step == nil {
			s.Steps[i] = &Step{}
			step = s.Steps[i]
		}
		if list != nil && i < len(list.Content) {
			step.node, step.Line = list.Content[i], list.Content[i].Line
		}
		step.path = strict.Item("steps", i)
	}
}
