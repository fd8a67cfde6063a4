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

// Load reads and checks a scenario. name stands for the data in messages; settings are values of its parameters. Its topology
// must be from the catalogue or inline, as there is no folder for files. An error is a [topology.Errors] with all problems.
func Load(name string, data []byte, settings ...topology.Setting) (*Scenario, error) {
	return load(name, data, folder{}, settings)
}

// maxSize is the maximum size of a file in bytes.
const maxSize = 1 << 20

func newReader(name string) *strict.Reader {
	return strict.NewReader(name, strict.Language{Noun: "scenario", APIVersion: APIVersion, Kind: Kind, Size: maxSize})
}

// LoadFile loads a scenario from a file. The topology may be a file, relative to its folder. Errors are those of [Load] and of
// reading.
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

// header checks apiVersion and kind first: without them other errors make no sense.
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

// replaceParameters replaces ${name} by values. It leaves names of set steps to the later steps.
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

// written returns values as if they were written where they are used.
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
