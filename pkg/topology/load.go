package topology

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	slash "path"
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
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
